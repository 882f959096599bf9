/// The rows of the tables under the schema that was in force until a migration.
///
/// What writers committed during the migration is compared with these rows, and recorded, before
/// the rules of the present schema decide anything: a migration cleans the rows first, and adds the
/// constraint then. Under the present schema the rows of before it would clash, be refused, or be
/// incomplete, although the tables showed every one of them.
///
/// So in a state with former rows
/// - rows that were shown apart never become one, and are never hidden for a claim or a CHECK;
/// - rows that were shown as they are stated do not clash: the claim was not in force;
/// - a reference without a target is shown as NULL, also where NULL is refused now;
/// - a reference may name an object of another table than the foreign key names now.
package struct FormerRows: Sendable {
    /// The objects that had a row of their own.
    package let shown: Set<ObjectUID>
    /// Those of them whose row showed what is stated, without any repair.
    package let plain: Set<ObjectUID>

    /// Describes what the tables showed.
    package init(shown: Set<ObjectUID>, plain: Set<ObjectUID>) {
        self.shown = shown
        self.plain = plain
    }
}
