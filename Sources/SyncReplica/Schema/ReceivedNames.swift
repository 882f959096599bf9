import CSQLite
import SyncStorage

/// Which names and functions a schema of another replica may use.
enum ReceivedNames {
    private static let nameBytesMax = 1_000
    /// What SQLite calls the table that has the schema.
    static let schemaTables: Set<String> = ["sqlite_master", "sqlite_schema"]
    /// Functions of SQLite that reach beyond the database. The connection has only SQLite's own
    /// functions; the others compute.
    static let refusedFunctions: Set<String> = [
        "load_extension", "fts3_tokenizer", "readfile", "writefile", "edit",
    ]

    /// Whether an object may have a name: neither one of ours nor of SQLite's. A table `pragma_…`
    /// would be read in place of SQLite's answer.
    static func isUsable(_ name: String) -> Bool {
        let folded = SQLName.folded(name)
        return !name.isEmpty && name.utf8.count <= nameBytesMax && !name.utf8.contains(0)
            && !SQLName.isOwn(name) && !folded.hasPrefix("sqlite_")
            && !folded.hasPrefix("pragma_") && !tableFunctions.contains(folded)
    }

    /// Tables of SQLite that compute rows from their arguments.
    static let tableFunctions: Set<String> = ["json_each", "json_tree"]

    /// The functions that views and triggers may call: they compute from their arguments, from the
    /// rows of a group or window, or from a match of a full-text index.
    static let functions: Set<String> = Set(
        """
        abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like
        likelihood likely lower ltrim max min nullif octet_length printf quote random randomblob
        replace round rtrim sign soundex substr substring trim typeof unhex unicode unlikely
        upper zeroblob
        date time datetime julianday strftime timediff unixepoch current_date current_time
        current_timestamp
        acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10
        log2 mod pi pow power radians sin sinh sqrt tan tanh trunc
        json json_array json_array_length json_error_position json_extract json_insert json_object
        json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid ->
        ->> json_group_array json_group_object
        avg count group_concat string_agg sum total
        row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value
        nth_value
        changes last_insert_rowid total_changes
        match bm25 highlight snippet offsets matchinfo
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
