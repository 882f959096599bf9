import Foundation
import SyncTesting
import Testing

/// The migrations of Django and Alembic, as they come from PyPI, on tracked databases.
@Suite("Migrations of Django and Alembic", .timeLimit(.minutes(10)))
struct PeerMigrationTests {
    /// The folder of the programs. Cancels the test where they cannot be installed.
    private func programs() async throws -> String {
        let folder = try Folder()
        defer { folder.remove() }
        let script = Binaries.root.appendingPathComponent("scripts/python-peers.sh").path
        let child = try Child(
            "/bin/sh", [script], in: folder, environment: ProcessInfo.processInfo.environment)
        let output = try await child.output(within: .seconds(300))
        guard output.status == 0 else {
            try Test.cancel("Django and Alembic cannot be installed: \(output.errors)")
        }
        return Binaries.root.appendingPathComponent(".venv-peers/bin").path
    }

    private func write(_ scene: Scene, _ name: String, _ text: String) throws {
        try text.write(toFile: scene.folder.path(name), atomically: true, encoding: .utf8)
    }

    private func shell(_ scene: Scene, _ command: String) async throws -> Child.Output {
        try await scene.start("/bin/sh", "-ec", command).output(within: .seconds(120))
    }

    @Test func djangoRemovesAField() async throws {
        let bin = try await programs()
        try await Scene.with { scene in
            let model = """
                from django.db import models
                class Author(models.Model):
                    name = models.CharField(max_length=20)

                """
            try await shell(
                scene,
                """
                "\(bin)/django-admin" startproject p . ; "\(bin)/python" manage.py startapp app
                sed -i "s/INSTALLED_APPS = \\[/INSTALLED_APPS = ['app',/" p/settings.py
                """
            ).expectSuccess()
            try write(
                scene, "app/models.py", model + "    extra = models.IntegerField(null=True)\n")
            let manage = "\"\(bin)/python\" manage.py"
            try await shell(scene, "\(manage) makemigrations -v0; \(manage) migrate -v0")
                .expectSuccess()
            try await scene.sql("db.sqlite3", "INSERT INTO app_author VALUES (1, 'ann', 5)")
            try await scene.tool("track", "db.sqlite3").expectSuccess()
            try write(scene, "app/models.py", model)
            try await shell(scene, "\(manage) makemigrations -v0").expectSuccess()
            let refused = try await shell(scene, "\(manage) migrate -v0")
            #expect(refused.status != 0 && refused.errors.contains("error in trigger"))

            let run = try await scene.run(
                ["migrate", "db.sqlite3", "--", bin + "/python", "manage.py", "migrate", "-v0"])
            #expect(run.status == 0, "\(run.errors)")
            let left = try await shell(scene, "\(manage) showmigrations")
            #expect(!left.text.contains("[ ]"), "\(left.text)")
            let history = try await scene.tool("history", "db.sqlite3", "--reverse", "--limit", "1")
            #expect(history.text.contains("+ django_migrations/"), "\(history.text)")
            try await shell(
                scene,
                "\(manage) shell -c 'from app.models import *; Author.objects.create(name=\"n\")'"
            ).expectSuccess()
            let next = try await scene.tool("history", "db.sqlite3", "--reverse", "--limit", "1")
            #expect(next.text.contains("+ app_author/2"), "\(next.text)")
        }
    }

    @Test func alembicDropsAColumn() async throws {
        let bin = try await programs()
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER); "
                    + "INSERT INTO album VALUES (1, 't', 1980)")
            try await scene.tool("track", "a.db").expectSuccess()
            try await shell(
                scene,
                """
                "\(bin)/alembic" init -t generic al
                sed -i 's#^sqlalchemy.url.*#sqlalchemy.url = sqlite:///a.db#' alembic.ini
                """
            ).expectSuccess()
            try write(
                scene, "al/versions/one.py",
                """
                from alembic import op
                import sqlalchemy as sa
                revision = "one"
                down_revision = None
                def upgrade():
                    op.drop_column("album", "year")
                    op.add_column("album", sa.Column("label", sa.String, server_default="none"))
                    op.execute("UPDATE album SET label = 'blue'")

                """)
            let refused = try await shell(scene, "\"\(bin)/alembic\" upgrade head")
            #expect(refused.status != 0 && refused.errors.contains("error in trigger"))
            let run = try await scene.run(
                ["migrate", "a.db", "--", bin + "/alembic", "upgrade", "head"])
            #expect(run.status == 0, "\(run.errors)")
            let history = try await scene.tool("history", "a.db", "--reverse", "--limit", "1")
            #expect(history.text.contains("migrate: "), "\(history.text)")
            #expect(history.text.contains("label"), "\(history.text)")
            try await scene.sql("a.db", "UPDATE album SET label = 'red'")
            let next = try await scene.tool("history", "a.db", "--reverse", "--limit", "1")
            #expect(next.text.contains("~ album/1  label"), "\(next.text)")
        }
    }
}
