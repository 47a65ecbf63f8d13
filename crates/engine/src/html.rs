//! The shapes as one self-contained HTML page.

use crate::schema::{ColumnReport, SchemaReport, TableReport};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2rem 0 .4rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.9em;overflow-wrap:anywhere}\
.sum{color:#555}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th,td{border-color:#333}a{color:#8bf}.sum{color:#aaa}}";

/// The page.
pub fn schema_page(report: &SchemaReport) -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Basalt: shapes</title>",
    );
    let _ = write!(
        out,
        "<meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style><h1>Shapes</h1>"
    );
    let _ = write!(
        out,
        "<p class=\"sum\">{} quads, {:.2} % in the cells of {} tables, {} irregular.</p><ul>",
        report.quads,
        report.coverage * 100.0,
        report.tables.len(),
        report.irregular_quads
    );
    for table in &report.tables {
        let name = escape(&table.name);
        let _ = write!(
            out,
            "<li><a href=\"#{name}\">{name}</a>, {} rows</li>",
            table.rows
        );
    }
    out.push_str("</ul>");
    for table in &report.tables {
        table_section(&mut out, table);
    }
    out.push_str("</html>\n");
    out
}

fn table_section(out: &mut String, table: &TableReport) {
    let name = escape(&table.name);
    let _ = write!(
        out,
        "<h2 id=\"{name}\">{name}</h2><p class=\"sum\">{} rows</p>",
        table.rows
    );
    out.push_str(
        "<table><tr><th>predicate<th>kind<th class=\"n\">values<th class=\"n\">distinct<th class=\"n\">empty<th>links to</tr>",
    );
    for column in &table.columns {
        column_row(out, column);
    }
    out.push_str("</table>");
}

fn column_row(out: &mut String, column: &ColumnReport) {
    let several = if column.multi_valued { ", several" } else { "" };
    let links: Vec<String> = column
        .links
        .iter()
        .map(|(table, count)| format!("<a href=\"#{0}\">{0}</a> ({count})", escape(table)))
        .collect();
    let _ = write!(
        out,
        "<tr><td><code>{}</code><td>{}{several}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1} %<td>{}</tr>",
        escape(&column.predicate),
        escape(&column.kind),
        column.values,
        column.distinct,
        column.null_share * 100.0,
        links.join(", ")
    );
}

/// Text with the characters that HTML reserves replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
