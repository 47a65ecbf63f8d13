//! The words of the language: its keywords and functions, and whether a word is one of them. For a word that is none it tells
//! which one may be meant: that of another language, or the nearest by its letters.

use super::places::shortened;
use super::tokens::Kind;
use super::{PLACE_SHOWN, Page};

/// Words that stand without a bracket, or with one that is no list of arguments.
pub(super) const KEYWORDS: &[&str] = &[
    "SELECT",
    "ASK",
    "CONSTRUCT",
    "DESCRIBE",
    "INSERT",
    "DELETE",
    "LOAD",
    "CLEAR",
    "DROP",
    "CREATE",
    "ADD",
    "MOVE",
    "COPY",
    "WITH",
    "BASE",
    "PREFIX",
    "VERSION",
    "WHERE",
    "FROM",
    "NAMED",
    "USING",
    "DATA",
    "DISTINCT",
    "REDUCED",
    "AS",
    "FILTER",
    "BIND",
    "OPTIONAL",
    "UNION",
    "MINUS",
    "GRAPH",
    "SERVICE",
    "SILENT",
    "VALUES",
    "UNDEF",
    "LATERAL",
    "EXISTS",
    "NOT",
    "IN",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "ASC",
    "DESC",
    "LIMIT",
    "OFFSET",
    "SEPARATOR",
    "INTO",
    "TO",
    "ALL",
    "DEFAULT",
    "true",
    "false",
    "a",
];

/// Words that stand before a list of arguments.
pub(super) const FUNCTIONS: &[&str] = &[
    "STR",
    "LANG",
    "LANGMATCHES",
    "LANGDIR",
    "DATATYPE",
    "BOUND",
    "IRI",
    "URI",
    "BNODE",
    "RAND",
    "ABS",
    "CEIL",
    "FLOOR",
    "ROUND",
    "CONCAT",
    "STRLEN",
    "UCASE",
    "LCASE",
    "ENCODE_FOR_URI",
    "CONTAINS",
    "STRSTARTS",
    "STRENDS",
    "STRBEFORE",
    "STRAFTER",
    "YEAR",
    "MONTH",
    "DAY",
    "HOURS",
    "MINUTES",
    "SECONDS",
    "TIMEZONE",
    "TZ",
    "NOW",
    "UUID",
    "STRUUID",
    "MD5",
    "SHA1",
    "SHA256",
    "SHA384",
    "SHA512",
    "COALESCE",
    "IF",
    "STRLANG",
    "STRLANGDIR",
    "STRDT",
    "sameTerm",
    "isIRI",
    "isURI",
    "isBLANK",
    "isLITERAL",
    "isNUMERIC",
    "REGEX",
    "SUBSTR",
    "REPLACE",
    "COUNT",
    "SUM",
    "MIN",
    "MAX",
    "AVG",
    "SAMPLE",
    "GROUP_CONCAT",
    "ADJUST",
    "TRIPLE",
    "SUBJECT",
    "PREDICATE",
    "OBJECT",
    "isTRIPLE",
    "hasLANG",
    "hasLANGDIR",
];

/// Words of other languages, and what is written here.
const OTHER_LANGUAGES: &[(&str, &str)] = &[
    ("AND", "&&"),
    ("OR", "||"),
    ("LIKE", "CONTAINS or REGEX"),
    ("LENGTH", "STRLEN"),
    ("LEN", "STRLEN"),
    ("SUBSTRING", "SUBSTR"),
    ("LOWER", "LCASE"),
    ("UPPER", "UCASE"),
    ("TOLOWER", "LCASE"),
    ("TOUPPER", "UCASE"),
    ("ISNULL", "!BOUND"),
    ("IFNULL", "COALESCE"),
    ("AVERAGE", "AVG"),
    ("STARTSWITH", "STRSTARTS"),
    ("ENDSWITH", "STRENDS"),
    ("UPDATE", "DELETE … INSERT … WHERE"),
    ("TYPE", "DATATYPE"),
    ("DELETEDATA", "DELETE DATA"),
    ("INSERTDATA", "INSERT DATA"),
    ("ORDERBY", "ORDER BY"),
    ("GROUPBY", "GROUP BY"),
    ("NULL", "UNDEF"),
    ("MATCH", "SELECT … WHERE"),
];

pub(super) const QUERY_WORDS: &[&str] = &["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"];
pub(super) const UPDATE_WORDS: &[&str] = &[
    "INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH",
];

/// Letters of a word that may be a known one with a mistake in it.
const WORD_COMPARED: usize = 24;

impl Page<'_> {
    pub(super) fn unknown_function(&self) -> Option<String> {
        let mut tokens = self.tokens.iter().enumerate();
        let (_, token) = tokens.find(|(index, token)| {
            token.kind == Kind::Word && !is_known(token.text) && self.is_mark(index + 1, "(")
        })?;
        let word = shortened(token.text, PLACE_SHOWN);
        let meant = meant(token.text, &[FUNCTIONS, KEYWORDS]);
        self.placed(&format!("there is no function «{word}»{meant}"), token.at)
    }

    pub(super) fn unknown_keyword(&self) -> Option<String> {
        let mut words = self.tokens.iter().filter(|token| token.kind == Kind::Word);
        let token = words.find(|token| !is_known(token.text))?;
        let word = shortened(token.text, PLACE_SHOWN);
        let meant = meant(token.text, &[KEYWORDS, FUNCTIONS]);
        self.placed(&format!("«{word}» is no keyword{meant}"), token.at)
    }
}

pub(super) fn is_in(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a word is one of SPARQL's; digits may follow it without a blank, and escapes may stand for anything.
fn is_known(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    is_in(KEYWORDS, word)
        || is_in(FUNCTIONS, word)
        || is_in(KEYWORDS, letters)
        || word.contains('\\')
}

/// A question for the known word that is nearest to a wrong one; nothing where none is near.
pub(super) fn meant(word: &str, lists: &[&[&str]]) -> String {
    let other = OTHER_LANGUAGES
        .iter()
        .find(|(other, _)| other.eq_ignore_ascii_case(word));
    if let Some((_, own)) = other {
        return format!("; is {own} meant?");
    }
    let letters: Vec<char> = word
        .chars()
        .take(WORD_COMPARED + 1)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    let allowed = match letters.len() {
        0..=2 => return String::new(),
        3..=5 => 1,
        6..=WORD_COMPARED => 2,
        _ => return String::new(),
    };
    let known = lists.iter().flat_map(|list| list.iter().copied());
    let near = known.map(|known| (distance(&letters, known), known));
    let near = near.filter(|(distance, known)| *distance <= allowed && known.len() > 1);
    match near.min_by_key(|(distance, _)| *distance) {
        Some((_, known)) => format!("; is {known} meant?"),
        None => String::new(),
    }
}

/// How many letters are wrong, missing, too many, or changed with the next.
fn distance(letters: &[char], known: &str) -> usize {
    let known: Vec<char> = known.chars().map(|c| c.to_ascii_uppercase()).collect();
    // Of the beginnings of the known word, for the letters up to the last but one, the last, and this.
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=known.len()).collect();
    let mut letter_before = None;
    for (row, letter) in letters.iter().enumerate() {
        let mut new = vec![row + 1];
        let mut known_before = None;
        for (column, own) in known.iter().enumerate() {
            let cost = |list: &[usize], at: usize| list.get(at).copied().unwrap_or(usize::MAX / 2);
            let changed = cost(&old, column) + usize::from(letter != own);
            let mut least = changed
                .min(cost(&old, column + 1) + 1)
                .min(cost(&new, column) + 1);
            if column > 0 && letter_before == Some(own) && known_before == Some(letter) {
                least = least.min(cost(&older, column - 1) + 1);
            }
            new.push(least);
            known_before = Some(own);
        }
        letter_before = Some(letter);
        older = std::mem::replace(&mut old, new);
    }
    old.last().copied().unwrap_or(usize::MAX)
}
