"""The BI queries of BSBM in SQL, over tables that a person would make for the data.

    duckdb_bi.py build DATABASE CSV_FOLDER
    duckdb_bi.py run DATABASE RECORDING THREADS ANSWERS REPORT

`build` makes tables with integer keys of the CSV files. `run` takes the questions from a recording
of another store, asks them once for their answers (written in the form of a recording) and once
more for their times (written in the form of a report of the driver).

Keys are the ranks of IRIs in the order of their characters, so that ORDER BY a key is what ORDER
BY the IRI is. IRIs are put back in place of keys outside the clock, which is a gift to DuckDB.
"""

import json
import math
import re
import sys
import time

import duckdb

XSD = "http://www.w3.org/2001/XMLSchema#"

# Every class of things with the CSV files and columns that name its members.
CLASSES = {
    "product": [("product", "product")],
    "type": [("product_type", "type")],
    "feature": [("product_feature", "feature")],
    "producer": [("producer", "producer"), ("product", "producer")],
    "vendor": [("vendor", "vendor"), ("offer", "vendor")],
    "person": [("person", "person"), ("review", "person")],
    "country": [("producer", "country"), ("vendor", "country"), ("person", "country")],
}

# Every table with its columns, its keys among them, and what it is sorted by.
TABLES = {
    "product": (["product", "producer"], {}, "product"),
    "product_type": (["product", "type"], {}, "type, product"),
    "product_feature": (["product", "feature"], {}, "feature, product"),
    "producer": (["producer", "country"], {}, "producer"),
    "vendor": (["vendor", "country"], {}, "vendor"),
    "person": (["person", "country"], {}, "person"),
    "offer": (["product", "vendor"], {"price": "DOUBLE"}, "product"),
    "review": (
        ["product", "person"],
        {"date": "DATE", "r1": "TINYINT", "r2": "TINYINT", "r3": "TINYINT", "r4": "TINYINT"},
        "product",
    ),
}

OF_TYPE = "p AS (SELECT product FROM product_type WHERE type = $type)"

# Number of the query: its variables in the order of the SELECT, each with the class of the key or
# the datatype, and the SQL.
QUERIES = {
    1: (
        {"type": "type", "reviews": "integer"},
        """WITH n AS (SELECT r.product, count(*) AS n FROM review r
                      JOIN person USING (person) JOIN product d ON d.product = r.product
                      JOIN producer m ON m.producer = d.producer
                      WHERE person.country = $country2 AND m.country = $country1
                      GROUP BY r.product)
           SELECT type, sum(n)::BIGINT AS reviews FROM n JOIN product_type USING (product)
           GROUP BY type ORDER BY reviews DESC, type LIMIT 10""",
    ),
    2: (
        {"other": "product", "shared": "integer"},
        """SELECT b.product, count(*) AS shared
           FROM product_feature a JOIN product_feature b USING (feature)
           WHERE a.product = $product AND b.product <> $product
           GROUP BY b.product ORDER BY shared DESC, b.product LIMIT 10""",
    ),
    3: (
        {"product": "product", "growth": "float"},
        """SELECT product, later::DOUBLE / earlier AS growth FROM (
             SELECT product, count(*) FILTER (date >= $month1) AS later,
                    count(*) FILTER (date < $month1) AS earlier
             FROM review WHERE date >= $month0 AND date < $month2 GROUP BY product)
           WHERE later > 0 AND earlier > 0 ORDER BY growth DESC, product LIMIT 10""",
    ),
    # Products without a feature are all products less those with it: nothing is multiplied.
    4: (
        {"feature": "feature", "ratio": "float"},
        f"""WITH {OF_TYPE},
            s AS (SELECT product, sum(price) AS s, count(*) AS n FROM offer JOIN p USING (product)
                  GROUP BY product),
            a AS (SELECT sum(s) AS s, sum(n) AS n FROM s),
            f AS (SELECT feature, sum(s) AS s, sum(n) AS n FROM product_feature JOIN s USING (product)
                  GROUP BY feature)
            SELECT feature, (f.s / f.n) / ((a.s - f.s) / (a.n - f.n)) AS ratio FROM f, a
            WHERE a.n > f.n ORDER BY ratio DESC, feature LIMIT 10""",
    ),
    5: (
        {"country": "country", "product": "product", "reviews": "integer", "meanPrice": "float"},
        f"""WITH {OF_TYPE},
            c AS (SELECT country, product, count(*) AS n FROM review JOIN p USING (product)
                  JOIN person USING (person) GROUP BY country, product),
            w AS (SELECT c.* FROM c JOIN (SELECT country, max(n) AS n FROM c GROUP BY country)
                  USING (country, n)),
            m AS (SELECT product, avg(price) AS mean FROM offer
                  WHERE product IN (SELECT product FROM w) GROUP BY product)
            SELECT country, product, n, mean FROM w JOIN m USING (product)
            ORDER BY n DESC, country, product""",
    ),
    6: (
        {"reviewer": "person", "mean": "float"},
        """WITH r AS (SELECT person, sum(coalesce(r1, 0) + coalesce(r2, 0) + coalesce(r3, 0)
                             + coalesce(r4, 0)) AS s,
                             count(r1) + count(r2) + count(r3) + count(r4) AS n
                      FROM review JOIN product USING (product) WHERE producer = $producer
                      GROUP BY person)
           SELECT person, s / n AS mean FROM r
           WHERE n > 0 AND s / n > (SELECT sum(s) / sum(n) FROM r) * 1.5""",
    ),
    7: (
        {"product": "product"},
        f"""WITH {OF_TYPE},
            n AS (SELECT product, count(*) AS n FROM offer JOIN p USING (product)
                  GROUP BY product ORDER BY n DESC, product LIMIT 1000)
            SELECT product FROM n WHERE product NOT IN (
              SELECT o.product FROM offer o JOIN vendor USING (vendor)
              WHERE country = $country AND o.product IN (SELECT product FROM n))""",
    ),
    8: (
        {"vendor": "vendor", "share": "float"},
        f"""WITH {OF_TYPE},
            o AS (SELECT product, vendor, price FROM offer JOIN p USING (product)),
            m AS (SELECT product, avg(price) AS mean FROM o GROUP BY product)
            SELECT vendor, count(*) FILTER (price < mean)::DOUBLE / count(*) AS share
            FROM o JOIN m USING (product) GROUP BY vendor HAVING share > 0
            ORDER BY share DESC, vendor LIMIT 10""",
    ),
}


def parameters(number, text):
    """The parameters in the text of a SPARQL query: names with a class and an IRI, or a date."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(line for line in lines if not line.startswith("PREFIX"))
    iri = lambda pattern: re.findall(pattern + r" <([^>]*)>", text)
    if number == 1:
        first, second = iri(r"bsbm:country")
        return {"country1": ("country", first), "country2": ("country", second)}
    if number == 2:
        return {"product": ("product", iri(r"!=")[0])}
    if number == 3:
        dates = sorted(set(re.findall(r'"(\d{4}-\d\d-\d\d)"', text)))
        return {f"month{place}": ("date", date) for place, date in enumerate(dates)}
    if number == 6:
        return {"producer": ("producer", iri(r"bsbm:producer")[0])}
    found = {"type": ("type", iri(r" a")[0])}
    if number == 7:
        found["country"] = ("country", iri(r"\?country =")[0])
    return found


def build(database, folder):
    connection = duckdb.connect(database)
    read = lambda name: f"read_csv('{folder}/{name}.csv', header = true, all_varchar = true)"
    for name, places in CLASSES.items():
        union = " UNION ".join(f"SELECT DISTINCT {column} AS iri FROM {read(file)}" for file, column in places)
        connection.execute(
            f"CREATE TABLE {name}_name AS SELECT (row_number() OVER (ORDER BY iri))::INTEGER AS key, iri "
            f"FROM ({union}) ORDER BY iri"
        )
    for name, (keys, values, order) in TABLES.items():
        columns = [f"{key}_name.key AS {key}" for key in keys]
        columns += [f"{value}::{kind} AS {value}" for value, kind in values.items()]
        joins = "".join(f" JOIN {key}_name ON {key}_name.iri = c.{key}" for key in keys)
        connection.execute(
            f"CREATE TABLE \"{name}\" AS SELECT {', '.join(columns)} FROM {read(name)} c{joins} "
            f"ORDER BY {order}"
        )
        (rows,) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()
        (lines,) = connection.execute(f"SELECT count(*) FROM {read(name)}").fetchone()
        if rows != lines:
            sys.exit(f"{name} has {rows} rows of {lines} lines: a thing has no name")
    connection.execute("ANALYZE")
    connection.close()


def percentile(times, percent):
    """The nearest rank, as the driver counts."""
    return sorted(times)[max(math.ceil(len(times) * percent / 100) - 1, 0)]


class Names:
    """Keys of IRIs and IRIs of keys."""

    def __init__(self, connection):
        self.keys, self.iris = {}, {}
        for name in CLASSES:
            rows = connection.execute(f"SELECT key, iri FROM {name}_name").fetchall()
            self.keys[name] = {iri: key for key, iri in rows}
            self.iris[name] = dict(rows)

    def bound(self, found):
        """Values for the parameters of the SQL; a thing that nothing refers to has no key."""
        return {
            name: value if kind == "date" else self.keys[kind].get(value, -1)
            for name, (kind, value) in found.items()
        }

    def content(self, columns, rows):
        """An answer as a recording holds it, with the variables in the order of their names."""
        order = sorted(range(len(columns)), key=lambda place: list(columns)[place])
        kinds = list(columns.values())

        def term(kind, value):
            if value is None:
                return None
            if kind in self.iris:
                return {"type": "uri", "value": self.iris[kind][value]}
            return {"type": "literal", "value": repr(value), "datatype": XSD + kind}

        return {
            "rows": {
                "variables": sorted(columns),
                "rows": [[term(kinds[place], row[place]) for place in order] for row in rows],
            }
        }


def figures(number, asked):
    """The figures of one query, named as in the driver's report; `asked` are levels, times, rows."""
    times = [seconds for _, seconds, _ in asked]
    levels = sorted({level for level, _, _ in asked if level is not None})
    of_level = lambda level: [seconds for known, seconds, _ in asked if known == level]
    return {
        "number": number,
        "count": len(times),
        "rows": sum(rows for _, _, rows in asked),
        "aqet_s": sum(times) / len(times),
        "p50_s": percentile(times, 50),
        "p95_s": percentile(times, 95),
        "p99_s": percentile(times, 99),
        "max_s": max(times),
        "timeouts": 0,
        "not_tried": 0,
        "errors": 0,
        "levels": [
            {
                "level": level,
                "count": len(of_level(level)),
                "unanswered": 0,
                "p50_s": percentile(of_level(level), 50),
                "max_s": max(of_level(level)),
            }
            for level in levels
        ],
    }


def run(database, recording, threads, answers, report):
    connection = duckdb.connect(database, read_only=True)
    connection.execute(f"SET threads = {int(threads)}")
    names = Names(connection)
    with open(recording, encoding="utf-8") as file:
        questions = json.loads(file.readline())
        asked = [json.loads(line) for line in file]
    questions["endpoint"] = f"DuckDB {duckdb.__version__}, {threads} threads"
    prepared = []
    for question in asked:
        columns, sql = QUERIES[question["number"]]
        bound = names.bound(parameters(question["number"], question["text"]))
        prepared.append((question, columns, sql, bound))
    with open(answers, "w", encoding="utf-8") as file:
        file.write(json.dumps(questions))
        for question, columns, sql, bound in prepared:
            rows = connection.execute(sql, bound).fetchall()
            answer = {**question, "content": names.content(columns, rows)}
            file.write("\n" + json.dumps(answer))
        file.write("\n")
    timed = {}
    for question, columns, sql, bound in prepared:
        start = time.perf_counter()
        rows = connection.execute(sql, bound).fetchall()
        seconds = time.perf_counter() - start
        timed.setdefault(question["number"], []).append((question.get("level"), seconds, len(rows)))
    total = sum(seconds for asked in timed.values() for _, seconds, _ in asked)
    with open(report, "w", encoding="utf-8") as file:
        json.dump(
            {
                "qmph": 3600 * questions["mixes"] / total,
                "cqet_s": total / questions["mixes"],
                "runs": questions["mixes"],
                "clients": 1,
                "timeouts": 0,
                "not_tried": 0,
                "errors": 0,
                "warnings": [],
                "queries": [figures(number, timed[number]) for number in sorted(timed)],
            },
            file,
        )


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"build": build, "run": run}[command](*arguments)
