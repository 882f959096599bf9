"""Django's SQLite back end on files. The test database is tracked once, after all tables are made; without a daemon
again after each schema change that is committed, which a daemon does by itself."""

import os

from django.db.backends.sqlite3 import base, creation, schema

import tracking


def is_tracked(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'syncd_log'")
        return cursor.fetchone() is not None


class DatabaseCreation(creation.DatabaseCreation):
    def create_test_db(self, *arguments, **named):
        name = super().create_test_db(*arguments, **named)
        path = str(self.connection.settings_dict["NAME"])
        if tracking.MODE != "plain" and os.path.exists(path) and not is_tracked(self.connection):
            self.connection.close()
            tracking.track(path)
        return name


class SchemaEditor(schema.DatabaseSchemaEditor):
    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        connection = self.connection
        if tracking.MODE != "tracked" or connection.connection is None or connection.in_atomic_block:
            return
        path = str(connection.settings_dict["NAME"])
        if not connection.connection.in_transaction and os.path.exists(path) and is_tracked(connection):
            tracking.track(path)


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor
    creation_class = DatabaseCreation
