"""Named cases: two or three replicas, SQL, and what must be visible afterwards."""

import random, sim


def build(M, ents, ddl, n=2):
    schema = {e.name: e for e in ents}
    return [sim.Replica(M, "ABC"[i], schema, ddl, random.Random(i)) for i in range(n)]


def do(r, *sql, again=(), rekey={}, wall=None):
    r.db.execute("BEGIN")
    for q in sql:
        r.db.execute(q)
    r.db.execute("COMMIT")
    r.commit(r.M.Edit(r.read(), again, rekey), wall or r.hlc + 10)


def sync(*reps):
    for _ in range(2):
        for a in reps:
            for b in reps:
                if a is not b:
                    b.receive(a.base.delta(b.base.vector))
    c = [r.canonical() for r in reps]
    assert all(x == c[0] for x in c), "differ"


def rows(r, sql):
    return sorted(r.db.execute(sql).fetchall(), key=repr)


def parent_child(M, act, nn=False, private=False, cdw=True, default=None, n=2, check=None):
    k, t = ("id", "INTEGER") if private else ("k", "TEXT")
    P = M.Entity("P", [k, "d"], [k], private)
    C = M.Entity(
        "C",
        ["k", "f", "d"],
        ["k"],
        False,
        {"f"} if nn else (),
        [],
        [M.FK(["f"], "P", act)],
        [(("f",), check[0], check[1])] if check else [],
        {"f": default} if default else {},
        cdw,
    )
    return build(
        M,
        [P, C],
        [
            "CREATE TABLE P(%s %s PRIMARY KEY NOT NULL,d TEXT)" % (k, t),
            "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL,f %s %s %s,d TEXT %s,FOREIGN KEY(f) REFERENCES P(%s) ON DELETE %s ON UPDATE CASCADE)"
            % (
                t,
                "NOT NULL" if nn else "",
                "DEFAULT '%s'" % default if default else "",
                ",CHECK(%s)" % check[0] if check else "",
                k,
                act,
            ),
        ],
        n,
    )


CASES = []


def case(f):
    CASES.append(f)
    return f


@case
def restrict_brings_parent_back(M):
    for act in ("RESTRICT", "NO ACTION"):
        a, b = parent_child(M, act)
        do(a, "INSERT INTO P VALUES('p','x')")
        sync(a, b)
        do(a, "DELETE FROM P")
        do(b, "INSERT INTO C VALUES('c','p','y')")
        sync(a, b)
        assert rows(a, "SELECT k FROM P") == [("p",)] and rows(a, "SELECT k FROM C") == [("c",)]
        assert any(v[0] == "delete lost" for v in a.log.values())
        do(a, "DELETE FROM C")
        sync(a, b)
        assert rows(b, "SELECT k FROM P") == [("p",)], "parent must stay"


@case
def cascade_ends_concurrent_child_and_logs_it(M):
    a, b = parent_child(M, "CASCADE")
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT * FROM P") == [] == rows(a, "SELECT * FROM C") and any(
        v[1] == ("y",) for v in a.log.values()
    )


@case
def cascade_under_editwins_brings_parent_back(M):
    a, b = parent_child(M, "CASCADE", cdw=False)
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k FROM P") == [("p",)]


@case
def set_null(M):
    a, b = parent_child(M, "SET NULL")
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k,f FROM C") == [("c", None)] and rows(a, "SELECT k FROM P") == []
    assert any(v[1] and M.is_ref(v[1][0]) for v in a.log.values())


@case
def set_null_on_not_null_acts_as_restrict(M):
    a, b = parent_child(M, "SET NULL", nn=True)
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k,f FROM C") == [("c", "p")] and rows(a, "SELECT k FROM P") == [("p",)]


@case
def set_null_refused_by_check_acts_as_restrict(M):
    a, b = parent_child(M, "SET NULL", check=("f IS NOT NULL", lambda f: f is not None))
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k,f FROM C") == [("c", "p")]


@case
def set_default(M):
    a, b = parent_child(M, "SET DEFAULT", nn=True, default="z")
    do(a, "INSERT INTO P VALUES('p','x'),('z','dflt')")
    sync(a, b)
    do(a, "DELETE FROM P WHERE k='p'")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k,f FROM C") == [("c", "z")] and rows(a, "SELECT k FROM P") == [("z",)]


@case
def set_default_without_default_row_acts_as_restrict(M):
    a, b = parent_child(M, "SET DEFAULT", nn=True, default="z")
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "DELETE FROM P WHERE k='p'")
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT k,f FROM C") == [("c", "p")]


@case
def default_row_that_is_not_shown_is_no_default(M):
    G = M.Entity("G", ["k"], ["k"], False)
    P = M.Entity("P", ["k", "g"], ["k"], False, (), [], [M.FK(["g"], "G", "CASCADE")])
    C = M.Entity(
        "C",
        ["k", "f", "d"],
        ["k"],
        False,
        {"f"},
        [],
        [M.FK(["f"], "P", "SET DEFAULT")],
        [],
        {"f": "z"},
    )
    a, b = build(
        M,
        [G, P, C],
        [
            "CREATE TABLE G(k TEXT PRIMARY KEY NOT NULL)",
            "CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL,g TEXT REFERENCES G(k) ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL,f TEXT NOT NULL DEFAULT 'z' REFERENCES P(k) ON DELETE SET DEFAULT ON UPDATE CASCADE,d TEXT)",
        ],
    )
    do(a, "INSERT INTO G VALUES('g')", "INSERT INTO P VALUES('p',NULL)")
    sync(a, b)
    do(a, "DELETE FROM G", "DELETE FROM P")
    do(b, "INSERT INTO P VALUES('z','g')", "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT * FROM P") == [] == rows(a, "SELECT * FROM C") and any(
        v[1] == ("y",) for v in a.log.values()
    )


@case
def touching_a_revived_row_makes_it_live(M):
    a, b, c = parent_child(M, "RESTRICT", n=3)
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b, c)
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(b, c)
    do(a, "DELETE FROM P")
    sync(a, b)
    do(b, "UPDATE P SET d='kept'")  # b sees the revived row
    do(c, "DELETE FROM C")
    sync(a, b, c)  # c has not seen the delete of p
    assert rows(a, "SELECT k,d FROM P") == [("p", "kept")]


@case
def same_integer_key_keeps_both(M):
    P = M.Entity("P", ["id", "d"], ["id"], True)
    C = M.Entity("C", ["id", "f"], ["id"], True, (), [], [M.FK(["f"], "P", "CASCADE")])
    a, b = build(
        M,
        [P, C],
        [
            "CREATE TABLE P(id INTEGER PRIMARY KEY,d TEXT)",
            "CREATE TABLE C(id INTEGER PRIMARY KEY,f INTEGER REFERENCES P(id) ON DELETE CASCADE ON UPDATE CASCADE)",
        ],
    )
    do(a, "INSERT INTO P VALUES(348,'a')", "INSERT INTO C VALUES(1,348)")
    do(b, "INSERT INTO P VALUES(348,'b')", "INSERT INTO C VALUES(1,348)")
    sync(a, b)
    for r in (a, b):
        assert rows(r, "SELECT d FROM P JOIN C ON f=P.id") == [("a",), ("b",)]
    assert rows(a, "SELECT d FROM P WHERE id=348") == [("a",)] and rows(
        b, "SELECT d FROM P WHERE id=348"
    ) == [("b",)]


def uniq(M, policy="merge", n=2):
    P = M.Entity("P", ["id", "u", "d"], ["id"], True, (), [("u",)], unique_policy=policy)
    C = M.Entity(
        "C", ["id", "f", "x"], ["id"], True, (), [("f", "x")], [M.FK(["f"], "P", "CASCADE")]
    )
    return build(
        M,
        [P, C],
        [
            "CREATE TABLE P(id INTEGER PRIMARY KEY,u TEXT UNIQUE,d TEXT)",
            "CREATE TABLE C(id INTEGER PRIMARY KEY,f INTEGER REFERENCES P(id) ON DELETE CASCADE ON UPDATE CASCADE,x TEXT,UNIQUE(f,x))",
        ],
        n,
    )


@case
def unique_merges_and_children_follow(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a')", "INSERT INTO C VALUES(1,1,'same'),(2,1,'a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')", "INSERT INTO C VALUES(1,1,'same'),(2,1,'b')")
    sync(a, b)
    assert len(rows(a, "SELECT * FROM P")) == 1 and rows(a, "SELECT x FROM C JOIN P ON f=P.id") == [
        ("a",),
        ("b",),
        ("same",),
    ]
    do(a, "DELETE FROM P")
    sync(a, b)
    assert rows(b, "SELECT * FROM P") == [] == rows(b, "SELECT * FROM C")


@case
def later_edit_of_the_loser_is_forwarded(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')")
    a.receive(b.base.delta({}))
    do(a, "UPDATE P SET d='seen both'")
    do(b, "UPDATE P SET d='later'", wall=10**6)
    sync(a, b)
    assert rows(a, "SELECT d FROM P") == [("later",)]


@case
def unique_clash_that_ends_splits_again(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')")
    d = b.base.delta({})
    do(b, "UPDATE P SET u='v'")
    a.receive(d)
    assert len(rows(a, "SELECT * FROM P")) == 1
    sync(a, b)
    assert rows(a, "SELECT u,d FROM P") == [("u", "a"), ("v", "b")]


@case
def key_update_of_a_merged_row_does_not_free_the_hidden_one(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')")
    sync(a, b)
    do(a, "UPDATE P SET u='w'")
    sync(a, b)
    assert len(rows(b, "SELECT * FROM P")) == 1


@case
def keep_both_renames_the_later(M):
    a, b = uniq(M, "keepBoth")
    do(a, "INSERT INTO P VALUES(1,'u','a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')", wall=99)
    sync(a, b)
    r = rows(a, "SELECT d,u FROM P")
    assert r[0] == ("a", "u") and r[1][0] == "b" and r[1][1].startswith("u~"), r


@case
def clash_of_updates_keeps_both_rows(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
    sync(a, b)
    do(a, "UPDATE P SET u='w' WHERE d='a'")
    do(b, "UPDATE P SET u='w' WHERE d='b'", wall=99)
    sync(a, b)
    assert rows(a, "SELECT d,u FROM P") == [("a", "w"), ("b", None)]
    assert any(v[1] == ("w",) for v in a.log.values())


@case
def later_loses_keeps_both_rows(M):
    a, b = uniq(M, "laterLoses")
    do(a, "INSERT INTO P VALUES(1,'u','a')")
    do(b, "INSERT INTO P VALUES(1,'u','b')", wall=99)
    sync(a, b)
    assert rows(b, "SELECT d,u FROM P") == [("a", "u"), ("b", None)]


@case
def three_claims_become_one(M):
    a, b, c = uniq(M, n=3)
    for r in (a, b, c):
        do(r, "INSERT INTO P VALUES(1,'u','%s')" % r.name)
    b.receive(a.base.delta({}))
    c.receive(b.base.delta({}))
    sync(a, b, c)
    assert len(rows(a, "SELECT * FROM P")) == 1


@case
def swap_against_nothing(M):
    a, b = uniq(M)
    do(a, "INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
    sync(a, b)
    do(
        a,
        "UPDATE P SET u='t' WHERE d='a'",
        "UPDATE P SET u='u' WHERE d='b'",
        "UPDATE P SET u='v' WHERE d='a'",
    )
    do(b, "UPDATE P SET d='e' WHERE d='a'")
    sync(a, b)
    assert rows(b, "SELECT u,d FROM P") == [("u", "b"), ("v", "e")]


@case
def check_over_two_columns(M):
    E = M.Entity(
        "E", ["k", "a", "b"], ["k"], False, (), [], [], [(("a", "b"), "a<=b", lambda a, b: a <= b)]
    )
    a, b = build(
        M, [E], ["CREATE TABLE E(k TEXT PRIMARY KEY NOT NULL,a INTEGER,b INTEGER,CHECK(a<=b))"]
    )
    do(a, "INSERT INTO E VALUES('x',2,5)")
    sync(a, b)
    do(a, "UPDATE E SET a=4")
    do(b, "UPDATE E SET b=3", wall=99)
    sync(a, b)
    assert rows(a, "SELECT a,b FROM E") == [(2, 3)], rows(a, "SELECT a,b FROM E")
    assert any(v[1] == (4, 5) for v in a.log.values())


@case
def composite_reference_is_one_value(M):
    P = M.Entity("P", ["x", "y"], ["x", "y"], False)
    C = M.Entity(
        "C", ["k", "fx", "fy"], ["k"], False, (), [], [M.FK(["fx", "fy"], "P", "RESTRICT")]
    )
    a, b = build(
        M,
        [P, C],
        [
            "CREATE TABLE P(x TEXT NOT NULL,y INTEGER NOT NULL,PRIMARY KEY(x,y))",
            "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL,fx TEXT,fy INTEGER,FOREIGN KEY(fx,fy) REFERENCES P(x,y) ON UPDATE CASCADE)",
        ],
    )
    do(a, "INSERT INTO P VALUES('p',1),('p',2),('q',1)", "INSERT INTO C VALUES('c','p',1)")
    sync(a, b)
    do(a, "UPDATE C SET fx='q'")
    do(b, "UPDATE C SET fy=2", wall=99)
    sync(a, b)
    assert rows(a, "SELECT fx,fy FROM C") == [("p", 2)]


@case
def delete_and_insert_of_one_key_against_an_edit(M):
    for again in (1, 0):
        a, b = parent_child(M, "CASCADE")
        do(a, "INSERT INTO P VALUES('p','old')")
        sync(a, b)
        if again:
            do(a, "DELETE FROM P", "INSERT INTO P VALUES('p','new')", again=[("P", ("p",))])
        else:
            do(a, "DELETE FROM P")
            do(a, "INSERT INTO P VALUES('p','new')")
        do(b, "UPDATE P SET d='edit'", wall=999)
        sync(a, b)
        assert rows(b, "SELECT k,d FROM P") == [("p", "new")], rows(b, "SELECT k,d FROM P")
        assert any(v[1] == ("edit",) for v in b.log.values())


@case
def insert_stands_against_a_delete_that_had_not_seen_it(M):
    a, b, c = parent_child(M, "CASCADE", n=3)
    do(a, "INSERT INTO P VALUES('p','a')")
    c.receive(a.base.delta({}))
    do(c, "DELETE FROM P")
    do(b, "INSERT INTO P VALUES('p','b')")
    sync(a, b, c)
    assert rows(a, "SELECT k,d FROM P") == [("p", "b")]


@case
def delete_against_edit(M):
    for dw in (True, False):
        P = M.Entity("P", ["k", "d", "e"], ["k"], False, delete_wins=dw)
        a, b = build(M, [P], ["CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL,d TEXT,e TEXT)"])
        do(a, "INSERT INTO P VALUES('p','d','e')")
        sync(a, b)
        do(a, "DELETE FROM P")
        do(b, "UPDATE P SET d='edit'")
        sync(a, b)
        assert rows(a, "SELECT * FROM P") == ([] if dw else [("p", "edit", "e")])
        assert dw == any(v[1] == ("edit",) for v in a.log.values())


@case
def natural_key_update_is_followed(M):
    a, b = parent_child(M, "RESTRICT")
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b)
    do(a, "UPDATE P SET k='q'", rekey={("P", ("q",)): ("P", ("p",))})
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(a, b)
    assert rows(a, "SELECT f FROM C") == [("q",)] and rows(b, "SELECT k FROM P") == [("q",)]
    do(b, "INSERT INTO P VALUES('p','fresh')")
    sync(a, b)
    assert rows(a, "SELECT k,d FROM P") == [("p", "fresh"), ("q", "x")]


@case
def same_natural_key_is_one_object(M):
    a, b = parent_child(M, "RESTRICT")
    do(a, "INSERT INTO P VALUES('p','a')")
    do(b, "INSERT INTO P VALUES('p','b')", wall=50)
    sync(a, b)
    assert rows(a, "SELECT k,d FROM P") == [("p", "b")] and all(
        len(r.members) == 1 for r in a.V.rows.values()
    )


@case
def a_row_that_merging_breaks_is_hidden_and_logged(M):
    P = M.Entity("P", ["id", "u"], ["id"], True, {"u"}, [("u",)], rename=())
    F = M.Entity(
        "F",
        ["x", "y", "d"],
        ["x", "y"],
        False,
        (),
        [],
        [M.FK(["x"], "P", "CASCADE"), M.FK(["y"], "P", "CASCADE")],
        [(("x", "y"), "x<>y", lambda x, y: x != y)],
    )
    a, b = build(
        M,
        [P, F],
        [
            "CREATE TABLE P(id INTEGER PRIMARY KEY,u TEXT NOT NULL UNIQUE)",
            "CREATE TABLE F(x INTEGER NOT NULL REFERENCES P(id) ON DELETE CASCADE ON UPDATE CASCADE,y INTEGER NOT NULL REFERENCES P(id) ON DELETE CASCADE ON UPDATE CASCADE,d TEXT,PRIMARY KEY(x,y),CHECK(x<>y))",
        ],
    )
    do(a, "INSERT INTO P VALUES(1,'u')")
    sync(a, b)
    do(a, "UPDATE P SET u='w'")
    do(b, "INSERT INTO P VALUES(2,'w')", "INSERT INTO F VALUES(1,2,'friends')")
    sync(a, b)
    assert (
        rows(a, "SELECT * FROM F") == []
        and any(v[1] == ("friends",) for v in a.log.values())
        and len(rows(a, "SELECT * FROM P")) == 1
    )


@case
def a_later_claim_that_cannot_be_null_is_not_shown(M):
    P = M.Entity("P", ["id", "u", "d"], ["id"], True, {"u"}, [("u",)])
    a, b, c = build(M, [P], ["CREATE TABLE P(id INTEGER PRIMARY KEY,u TEXT NOT NULL UNIQUE,d TEXT)"], 3)
    do(a, "INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
    sync(a, b, c)
    do(a, "UPDATE P SET u='w' WHERE d='a'")
    do(b, "UPDATE P SET u='w' WHERE d='b'", wall=10**6)
    sync(a, b, c)
    assert rows(c, "SELECT d,u FROM P") == [("a", "w")] and len(c.V.held) == 1
    do(a, "UPDATE P SET u='x' WHERE d='a'")  # makes room for the other row
    assert rows(a, "SELECT d,u FROM P") == [("a", "x"), ("b", "w")]
    sync(a, b, c)
    assert rows(c, "SELECT d,u FROM P") == [("a", "x"), ("b", "w")] and not c.V.log


@case
def cascade_lifts_with_its_restrict_child(M):
    G = M.Entity("G", ["k"], ["k"], False)
    P = M.Entity("P", ["k", "g"], ["k"], False, (), [], [M.FK(["g"], "G", "CASCADE")])
    C = M.Entity("C", ["k", "f"], ["k"], False, (), [], [M.FK(["f"], "P", "RESTRICT")])
    a, b = build(
        M,
        [G, P, C],
        [
            "CREATE TABLE G(k TEXT PRIMARY KEY NOT NULL)",
            "CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL,g TEXT REFERENCES G(k) ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL,f TEXT REFERENCES P(k) ON DELETE RESTRICT ON UPDATE CASCADE)",
        ],
    )
    do(a, "INSERT INTO G VALUES('g')", "INSERT INTO P VALUES('p','g')")
    sync(a, b)
    do(a, "DELETE FROM G")
    do(b, "INSERT INTO C VALUES('c','p')")
    sync(a, b)
    assert rows(a, "SELECT k FROM G") == [("g",)] and rows(a, "SELECT k FROM P") == [("p",)]


@case
def collected_object_is_not_missed_by_a_late_revival(M):
    a, b, c = parent_child(M, "RESTRICT", n=3)
    all3 = ("A", "B", "C")
    do(a, "INSERT INTO P VALUES('p','x')")
    sync(a, b, c)
    do(b, "INSERT INTO C VALUES('c','p','y')")
    sync(b, c)
    do(a, "DELETE FROM P")
    a_to_b = a.base.delta(b.base.vector)
    do(c, "DELETE FROM C")  # c has not seen the delete of p
    b.receive(a_to_b)
    c.receive(a.base.delta(c.base.vector))
    a.receive(b.base.delta(a.base.vector))  # all know the delete; p shown at a and b
    a.receive(c.base.delta(a.base.vector))  # a: child gone too, p is dead and unreferenced
    for x in (b, c):
        a.ack(x.name, x.base.vector)
    a.gc(all3)
    a.gc(all3)
    do(b, "UPDATE P SET d='alive'")  # b still shows p
    sync(a, b, c)
    assert rows(a, "SELECT k,d FROM P") == [("p", "alive")]


@case
def cuts_are_causal(M):
    a, b, c = parent_child(M, "RESTRICT", n=3)
    do(b, "INSERT INTO P VALUES('p','0')")
    sync(a, b, c)
    do(b, "UPDATE P SET d='1'")
    a.receive(b.base.delta(a.base.vector))
    do(a, "UPDATE P SET d='2'")
    c.receive(a.base.delta(c.base.vector, 2))
    do(c, "UPDATE P SET d='3'")
    c.receive(b.base.delta({"B": 1}))
    sync(a, b, c)
    assert len({tuple(sorted(r.V.log, key=repr)) for r in (a, b, c)}) == 1, "open conflicts differ"


@case
def a_gap_is_refused(M):
    a, b = parent_child(M, "RESTRICT")
    do(a, "INSERT INTO P VALUES('p','0')")
    do(a, "INSERT INTO P VALUES('q','0')")
    assert not b.base.apply(a.base.delta({"A": 1}))
    sync(a, b)
    assert len(rows(b, "SELECT * FROM P")) == 2


@case
def representative_does_not_depend_on_arrival(M):
    a, b, c = uniq(M, n=3)
    for r in (a, b, c):
        do(r, "INSERT INTO P VALUES(1,'u','%s')" % r.name)
    a.receive(b.base.delta({}))
    do(a, "UPDATE P SET u='x'")
    c.receive(b.base.delta({}))
    do(c, "UPDATE P SET u='y'")
    sync(a, b, c)
    assert len({tuple(sorted(r.V.rows)) for r in (a, b, c)}) == 1 and len(a.V.rows) == 1


def run(M, verbose=False):
    bad = []
    for f in CASES:
        try:
            f(M)
        except Exception as x:
            bad.append(f.__name__)
            if verbose:
                print(f.__name__, type(x).__name__, x)
    return bad


if __name__ == "__main__":
    import model

    print(len(CASES), "scenarios, failing:", run(model, True))
