//! The texts that the tokenizer is measured on.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const VOCABULARY: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/";
const INSTANCES: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor1/";

/// How much of a file is read.
const FILE_BYTES_MAX: usize = 64 << 20;

/// A text with a name.
pub struct Input {
    /// What the figures are called.
    pub name: &'static str,
    /// N-Triples.
    pub text: String,
}

/// Synthetic lines and the files that are there.
pub fn all() -> Vec<Input> {
    let mut inputs = vec![synthetic(20_000)];
    match std::env::var_os("BASALT_BENCH_FILE") {
        Some(path) => inputs.extend(from_file("file", Path::new(&path))),
        None => eprintln!("BASALT_BENCH_FILE is not set: no file is measured"),
    }
    inputs.extend(from_file("codex-m", &real_data_dir().join("codex-m.nt.gz")));
    inputs
}

/// The file that was named, else synthetic lines.
pub fn named_or_synthetic() -> Input {
    let path = std::env::var_os("BASALT_BENCH_FILE");
    let file = path.and_then(|path| from_file("file", Path::new(&path)));
    file.unwrap_or_else(|| synthetic(5_000))
}

/// Synthetic offers.
pub fn synthetic(offer_count: usize) -> Input {
    Input {
        name: "offers",
        text: offers(offer_count),
    }
}

/// Offers of eight lines each.
fn offers(count: usize) -> String {
    let mut text = String::new();
    for i in 0..count {
        let subject = format!("<{INSTANCES}Offer{i}>");
        let day = i % 28 + 1;
        for (predicate, object) in [
            ("product", format!("<{INSTANCES}Product{}>", i % 997)),
            ("vendor", format!("<{INSTANCES}Vendor{}>", i % 13)),
            (
                "price",
                format!("\"{}.{:02}\"^^<{VOCABULARY}USD>", i % 9000, i % 100),
            ),
            (
                "validFrom",
                format!("\"2008-06-{day:02}T00:00:00\"^^<{XSD}dateTime>"),
            ),
            ("deliveryDays", format!("\"{}\"^^<{XSD}integer>", i % 21)),
            (
                "offerWebpage",
                format!("<http://vendor1.example.org/offers/Offer{i}/>"),
            ),
            ("date", format!("\"2008-05-{day:02}\"^^<{XSD}date>")),
            (
                "comment",
                "\"worrying outbursts retooled diapers unhappily\"@en".to_owned(),
            ),
        ] {
            text.push_str(&format!("{subject} <{VOCABULARY}{predicate}> {object} .\n"));
        }
    }
    text
}

/// The whole lines at the start of the bytes: no more than `byte_count`, except for one line that is longer.
pub fn whole_lines(bytes: &[u8], byte_count: usize) -> usize {
    if bytes.len() <= byte_count {
        return bytes.len();
    }
    memchr::memrchr(b'\n', &bytes[..byte_count])
        .or_else(|| memchr::memchr(b'\n', bytes))
        .map_or(bytes.len(), |at| at + 1)
}

/// The first lines of a file, unless it cannot be read.
fn from_file(name: &'static str, path: &Path) -> Option<Input> {
    match read_start(path) {
        Ok(text) => Some(Input { name, text }),
        Err(error) => {
            eprintln!("{} is not measured: {error}", path.display());
            None
        }
    }
}

fn read_start(path: &Path) -> std::io::Result<String> {
    let file = File::open(path)?;
    let mut source: Box<dyn Read> = if path.extension().is_some_and(|e| e == "gz") {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut bytes = Vec::new();
    source
        .by_ref()
        .take(FILE_BYTES_MAX as u64)
        .read_to_end(&mut bytes)?;
    bytes.truncate(memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1));
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

fn real_data_dir() -> PathBuf {
    let given = std::env::var("BASALT_REAL_DATA_DIR");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(given.as_deref().unwrap_or("../shared/data/real"))
}
