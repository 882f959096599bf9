"""The settings of Django's own tests, on two database files."""

import os

FOLDER = os.environ["PEERS_FOLDER"]
DATABASES = {
    name: {
        "ENGINE": "peersdjango",
        "NAME": f"{FOLDER}/real_{name}.sqlite3",
        "TEST": {"NAME": f"{FOLDER}/{name}.sqlite3"},
    } for name in ("default", "other")}
SECRET_KEY = "x"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "peersdjango.runner.Runner"
