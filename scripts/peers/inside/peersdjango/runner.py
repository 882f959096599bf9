"""Django's test runner with recorded results."""

from django.test.runner import DiscoverRunner

import recording


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return recording.Result
