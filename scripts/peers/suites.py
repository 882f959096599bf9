"""The suites, where they come from, and how each is started."""

import dataclasses
import pathlib
import sys

INSIDE = pathlib.Path(__file__).resolve().parent / "inside"


@dataclasses.dataclass(frozen=True)
class Suite:
    """`package` is a source archive of PyPI, which contains tests; None for what Python brings along.

    `arguments` are what the suite's runner gets: files, modules or labels. `seconds_max` limits one run in one mode.
    """

    name: str
    package: str | None
    runner: str
    arguments: tuple[str, ...]
    seconds_max: int
    # Files of other copies or with other needs; pytest's --deselect and --ignore, or what the runner takes.
    options: tuple[str, ...] = ()
    replaces_connect: bool = True

    def command(self, python, folder, arguments):
        """What to run in the folder of the source, for all arguments or some."""
        if self.runner == "django":
            return [python, "runtests.py", "--settings=peersdjango.settings", "--parallel=1", "--noinput",
                    "-v", "1", *self.options, *arguments]
        if self.runner == "unittest":
            return [python, str(INSIDE / "recording.py"), *arguments]
        options = [option.format(folder=folder) for option in self.options]
        return [python, "-m", "pytest", "-q", "-p", "recording", "-p", "no:cacheprovider", "--maxfail=100000",
                "--timeout=120", "--tb=short", f"--basetemp={folder}/pytest", *options, *arguments]


def django(name, labels, seconds_max=1800):
    return Suite(name, "Django==5.2.8", "django", tuple(labels.split()), seconds_max, replaces_connect=False)


# test_runner deletes the test database under those that follow it, tracked or not. Left out are suites that do not
# touch a database, and those for other databases (gis_tests, postgres_tests).
DJANGO = [
    django("django-schema", "schema indexes constraints"),
    django("django-migrations", """
        migrations migrations2 migrate_signals migration_test_data_persistence custom_migration_operations"""),
    django("django-backends", "backends introspection inspectdb"),
    django("django-transactions", """
        bulk_create cache contenttypes_tests fixtures fixtures_model_package fixtures_regress get_or_create
        multiple_database select_for_update servers sessions_tests signals test_utils timezones transaction_hooks
        transactions"""),
    django("django-queries", """
        aggregation aggregation_regress annotations composite_pk db_functions expressions expressions_case
        expressions_window extra_regress filtered_relation lookup prefetch_related queries queryset_pickle raw_query
        select_related select_related_onetoone select_related_regress xor_lookups"""),
    django("django-fields", """
        async base custom_columns custom_lookups custom_managers custom_methods custom_pk datatypes dates datetimes
        db_typecasts db_utils dbshell defer defer_regress distinct_on_fields empty empty_models field_deconstruction
        field_defaults field_subclassing from_db_value get_earliest_or_latest get_object_or_404 max_lengths
        model_enums model_fields model_forms model_formsets model_formsets_regress model_indexes model_meta
        model_options model_package model_regress model_utils inline_formsets generic_inline_admin"""),
    django("django-relations", """
        basic delete delete_regress force_insert_update foreign_object generic_relations generic_relations_regress
        known_related_objects m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_signals
        m2m_through m2m_through_regress m2o_recursive managers_regress many_to_many many_to_one many_to_one_null
        model_inheritance model_inheritance_regress mutually_referential nested_foreign_keys null_fk
        null_fk_ordering null_queries one_to_one or_lookups order_with_respect_to ordering properties
        proxy_model_inheritance proxy_models reserved_names reverse_lookup save_delete_hooks serializers
        sites_framework sites_tests string_lookup swappable_models syndication_tests unmanaged_models update
        update_only_fields validation"""),
    django("django-applications", """
        admin_changelist admin_filters admin_inlines admin_ordering admin_utils admin_views admin_widgets auth_tests
        flatpages_tests generic_views modeladmin redirects_tests sitemaps_tests test_client test_client_regress
        view_tests"""),
]

SQLALCHEMY_FILES = """
    test/dialect/sqlite test/dialect/test_suite.py test/orm/test_cascade.py test/orm/test_unitofwork.py
    test/orm/test_unitofworkv2.py test/orm/test_naturalpks.py test/orm/test_versioning.py
    test/orm/test_manytomany.py test/sql/test_insert_exec.py test/sql/test_returning.py test/sql/test_update.py
    test/sql/test_delete.py"""

SUITES = [
    Suite(
        "cpython", None, "unittest",
        tuple("test.test_sqlite3.test_" + part for part in (
            "dbapi", "transactions", "regression", "factory", "hooks", "types", "dump", "backup",
            "userfunctions")), 1200),
    Suite("sqlite-utils", "sqlite-utils==4.2.1", "pytest", ("tests",), 2400),
    Suite(
        "diskcache", "diskcache==5.6.3", "pytest",
        tuple(f"tests/test_{part}.py" for part in ("core", "deque", "index", "recipes", "fanout")), 1200,
        ("-c", "/dev/null", "--rootdir=.")),
    Suite(
        "sqlitedict", "sqlitedict==2.1.0", "pytest",
        tuple(f"tests/test_{part}.py" for part in ("core", "autocommit", "temp_db", "named_db", "onimport")), 600),
    Suite(
        "persist-queue", "persist-queue==1.1.0", "pytest",
        tuple(f"persistqueue/tests/test_{part}.py" for part in ("pdict", "sqlqueue", "sqlackqueue")), 600),
    *DJANGO,
    Suite(
        # No underscore in the name of the folder: this suite splits paths there.
        "sqlalchemy", "SQLAlchemy==2.1.9", "pytest", tuple(SQLALCHEMY_FILES.split()), 2400,
        ("--dburi=sqlite:///{folder}/peers.db",)),
]


def named(names):
    """The suites of these names, or whose names begin with them (`django`); all without a name."""
    unknown = [n for n in names if not any(s.name.startswith(n) for s in SUITES)]
    if unknown:
        known = ", ".join(suite.name for suite in SUITES)
        sys.exit(f"peers: no suite is named {unknown[0]}; there are: {known}")
    return [s for s in SUITES if not names or any(s.name.startswith(n) for n in names)]
