"""Django's SQLite back end on files. The test database is tracked once, after all tables are made; without a daemon
again after each schema change that is committed, which a daemon does by itself."""

import os
import sqlite3

from django.db.backends.sqlite3 import base, creation, features, schema

import tracking


def is_tracked(path):
    """Asked on a connection of its own: tests count or forbid the queries of Django's."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'syncd_log'").fetchone() is not None
    finally:
        connection.close()


class DatabaseFeatures(features.DatabaseFeatures):
    """Where PEERS_FILTER is set, Django rebuilds a table to remove a column, as with SQLite before 3.35.5."""

    if os.environ.get("PEERS_FILTER") == "1":
        can_alter_table_drop_column = False


class DatabaseCreation(creation.DatabaseCreation):
    def create_test_db(self, *arguments, **named):
        name = super().create_test_db(*arguments, **named)
        path = str(self.connection.settings_dict["NAME"])
        if tracking.MODE != "plain" and os.path.exists(path) and not is_tracked(path):
            self.connection.close()
            tracking.track(path)
        return name

    def _destroy_test_db(self, test_database_name, verbosity):
        if tracking.MODE != "plain" and os.path.exists(str(test_database_name)):
            tracking.examine(str(test_database_name))
        super()._destroy_test_db(test_database_name, verbosity)


class SchemaEditor(schema.DatabaseSchemaEditor):
    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        connection = self.connection
        if tracking.MODE != "tracked" or connection.connection is None or connection.in_atomic_block:
            return
        path = str(connection.settings_dict["NAME"])
        if not connection.connection.in_transaction and os.path.exists(path) and is_tracked(path):
            tracking.track(path)


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor
    creation_class = DatabaseCreation
    features_class = DatabaseFeatures
