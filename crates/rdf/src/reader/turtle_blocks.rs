//! `TurtleBlocks`: Turtle and TriG cut into blocks that many threads can parse.
//!
//! One thread cuts: a quick scan (`TurtleScanner`) finds the ends of statements and the directives, and
//! each [`TurtleBlock`] of whole statements gets the prefixes and the base in force where it begins. Other
//! threads parse the blocks, each with a parser of its own. A graph of TriG that is longer than a block is cut at
//! the ends of its statements; the pieces get its name, as it was written, in front and a brace behind.
//!
//! **Same language, same errors.** The cuts are proposals. A parser that comes to the end of a block must be
//! between two statements, with just the prefixes and the base that the next block was given
//! (`TurtleState::is_reached`); otherwise, and after any error, the block is [`BlockVerdict::Doubtful`]. Then this
//! block and all that follows are read once more in one run ([`TurtleBlocks::read_rest`]), which gives what
//! reading the whole document in one run gives, the place and the text of an error included. By
//! induction over the blocks the outcome is always that of one run, if the quads of a block count only once all
//! blocks before it are good; so a block must be kept until then.
//!
//! **Blank nodes**: written labels stay as they are; those made up by the parser hold the number of their block
//! and a bracket, so they differ from all others of the document.
//!
//! Memory: a block; statements longer than a block make it longer, up to `LONGEST_BLOCK_BYTES`, where the rest is
//! read in one run. Cost of cutting: each byte is scanned once, read once, and copied once more behind the last cut.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use memchr::{memchr_iter, memrchr};

use super::document::check_base;
use super::turtle_scan::{Event, TurtleScanner};
use super::turtle_state::{PROBE, TurtleState};
use super::turtle_text::{TurtleText, read_turtle_text};
use super::{QuadSink, ReadError, SyntaxError};

/// Bytes of a block: some milliseconds of parsing, so that handing over costs nothing.
pub const BLOCK_BYTES: usize = 1 << 20;
/// No block grows beyond this, whatever its statements are like.
const LONGEST_BLOCK_BYTES: usize = 256 << 20;
/// Bytes of a line that are kept in front of a block for errors to quote.
const LINE_START_BYTES: usize = 64 << 10;
/// The longest head of a graph that is repeated in front of blocks.
const GRAPH_HEAD_BYTES: usize = 4 << 10;

/// The two syntaxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurtleFormat {
    /// Turtle.
    Turtle,
    /// Turtle with named graphs.
    TriG,
}

/// What holds at a place between two statements.
#[derive(Clone, Debug)]
struct Surroundings {
    /// Prefixes and base.
    state: Arc<TurtleState>,
    /// The head of the graph around the place, without its brace.
    graph: Option<Arc<str>>,
}

/// A run of whole statements, or the rest of a document.
#[derive(Debug)]
pub struct TurtleBlock {
    /// The text.
    bytes: Vec<u8>,
    /// The syntax.
    format: TurtleFormat,
    /// Its place among the blocks.
    number: usize,
    /// The number of its first line.
    line: u64,
    /// What stands on this line in front of it.
    line_start: Vec<u8>,
    /// What holds where it begins.
    start: Surroundings,
    /// What must hold where it ends; `None` if it ends with the document.
    end: Option<Surroundings>,
}

/// What became of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockVerdict {
    /// It was read, and the next block may count on it. The number of quads.
    Good(u64),
    /// It is wrong, or was cut where it must not be: [`TurtleBlocks::read_rest`] tells.
    Doubtful,
}

impl TurtleBlock {
    /// Its place among the blocks, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Bytes of text.
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The memory of the text, to be used again.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Parses the block. Quads go to the sink also if the block is doubtful in the end; then they do not
    /// count. Fails only if the sink does.
    pub fn parse<S: QuadSink>(&self, sink: &mut S) -> Result<BlockVerdict, S::Error> {
        let epilogue = match &self.end {
            None => String::new(),
            Some(end) if end.graph.is_some() => [" }", PROBE].concat(),
            Some(_) => PROBE.to_owned(),
        };
        let text = TurtleText {
            is_trig: self.format == TurtleFormat::TriG,
            prologue: &self.start.prologue(),
            epilogue: &epilogue,
            line: self.line,
            line_start: &self.line_start,
            part: Some(self.number),
        };
        let run = read_turtle_text(&text, self.bytes.as_slice(), sink);
        let is_good = match (run.result, &self.end) {
            (Err(ReadError::Sink(error)), _) => return Err(error),
            (result, None) => result.is_ok(),
            (result, Some(end)) => end.state.is_reached(&run.prefixes, result.is_ok()),
        };
        Ok(match is_good {
            true => BlockVerdict::Good(run.count),
            false => BlockVerdict::Doubtful,
        })
    }
}

impl Surroundings {
    /// Text that brings a parser here.
    fn prologue(&self) -> String {
        let mut text = self.state.prologue();
        if let Some(head) = &self.graph {
            text.extend([head, " { "]);
        }
        text
    }
}

/// A place where the text may be cut.
struct Cut {
    /// Bytes in front of it.
    at: usize,
    /// What holds there.
    place: Surroundings,
}

/// How the stream has ended.
enum StreamEnd {
    /// Not yet.
    Open,
    /// There is no more.
    End,
    /// It cannot be read further.
    Failed(io::Error),
}

/// Cuts a stream into [`TurtleBlock`]s; see the [module documentation](self).
pub struct TurtleBlocks<R> {
    /// The stream.
    reader: R,
    /// How it has ended.
    stream_end: StreamEnd,
    /// The syntax.
    format: TurtleFormat,
    /// Bytes to aim for.
    block_bytes: usize,
    /// What was read and not yet handed out.
    text: Vec<u8>,
    /// The scan of it.
    scanner: TurtleScanner,
    /// What holds where the scan is.
    here: Surroundings,
    /// Whether the scan is in a graph whose head cannot be repeated.
    is_in_whole_graph: bool,
    /// The last place in the text where it may be cut.
    cut: Option<Cut>,
    /// Whether the text must not be cut behind that place.
    is_doubtful: bool,
    /// Whether all was handed out.
    is_over: bool,
    /// What the next block begins with; its text and end are missing.
    next: TurtleBlock,
}

impl<R: Read> TurtleBlocks<R> {
    /// Blocks of about [`BLOCK_BYTES`]. `base` resolves relative IRIs.
    pub fn new(reader: R, format: TurtleFormat, base: Option<&str>) -> Result<Self, SyntaxError> {
        Self::with_block_bytes(reader, format, base, BLOCK_BYTES)
    }

    /// Blocks of about this many bytes.
    pub fn with_block_bytes(
        reader: R,
        format: TurtleFormat,
        base: Option<&str>,
        block_bytes: usize,
    ) -> Result<Self, SyntaxError> {
        check_base(base)?;
        let state = TurtleState::new(base);
        let here = Surroundings {
            state: Arc::new(state.ok_or_else(|| SyntaxError::unplaced("the base is no base"))?),
            graph: None,
        };
        Ok(Self {
            reader,
            stream_end: StreamEnd::Open,
            format,
            block_bytes: block_bytes.max(1),
            text: Vec::new(),
            scanner: TurtleScanner::new(format == TurtleFormat::TriG),
            is_in_whole_graph: false,
            cut: None,
            is_doubtful: false,
            is_over: false,
            next: TurtleBlock {
                bytes: Vec::new(),
                format,
                number: 0,
                line: 1,
                line_start: Vec::new(),
                start: here.clone(),
                end: None,
            },
            here,
        })
    }

    /// The next block, in the memory of `reuse`; `None` if there are no more. Then there may still be text that
    /// is to be read in one run ([`TurtleBlocks::has_rest`]).
    pub fn next_block(&mut self, reuse: Vec<u8>) -> Option<TurtleBlock> {
        let mut target = self.block_bytes;
        // Termination: each turn reads more or returns.
        while !self.is_over {
            self.fill(target);
            self.scan();
            match (self.cut.take(), &self.stream_end) {
                (_, StreamEnd::End) if !self.is_doubtful => {
                    self.is_over = true;
                    let bytes = std::mem::take(&mut self.text);
                    return (!bytes.is_empty()).then(|| self.block(bytes, None));
                }
                (Some(cut), _) => return Some(self.cut_at(cut, reuse)),
                (None, StreamEnd::Open) if !self.is_doubtful => {
                    target = self.text.len() * 2;
                    self.is_over = target > LONGEST_BLOCK_BYTES;
                }
                (None, _) => self.is_over = true,
            }
        }
        None
    }

    /// Whether there is text behind the last block.
    pub fn has_rest(&self) -> bool {
        self.is_over && (!self.text.is_empty() || matches!(self.stream_end, StreamEnd::Failed(_)))
    }

    /// Reads all that is left in one run: the blocks taken back, which must be the last ones and in order, and what
    /// was not handed out. Returns the number of quads.
    pub fn read_rest<S: QuadSink>(
        self,
        taken_back: Vec<TurtleBlock>,
        sink: &mut S,
    ) -> Result<u64, ReadError<S::Error>> {
        let mut pieces = VecDeque::new();
        let mut first = None;
        for mut block in taken_back {
            pieces.push_back(Cursor::new(std::mem::take(&mut block.bytes)));
            first = first.or(Some(block));
        }
        pieces.push_back(Cursor::new(self.text));
        let first = first.unwrap_or(self.next);
        let text = TurtleText {
            is_trig: self.format == TurtleFormat::TriG,
            prologue: &first.start.prologue(),
            epilogue: "",
            line: first.line,
            line_start: &first.line_start,
            part: Some(first.number),
        };
        let reader = Rest {
            pieces,
            stream_end: self.stream_end,
            reader: self.reader,
        };
        let run = read_turtle_text(&text, reader, sink);
        run.result.map(|()| run.count)
    }

    /// Reads until the text has so many bytes, or the stream has ended.
    fn fill(&mut self, target: usize) {
        let wanted = target.saturating_sub(self.text.len());
        if wanted == 0 || !matches!(self.stream_end, StreamEnd::Open) {
            return;
        }
        self.text.reserve(wanted);
        let mut limited = self.reader.by_ref().take(wanted as u64);
        match limited.read_to_end(&mut self.text) {
            Ok(count) if count < wanted => self.stream_end = StreamEnd::End,
            Ok(_) => {}
            Err(error) => self.stream_end = StreamEnd::Failed(error),
        }
    }

    /// Scans what was read.
    fn scan(&mut self) {
        while !self.is_doubtful {
            match self.scanner.next(&self.text) {
                Event::Exhausted => return,
                Event::Doubt => self.is_doubtful = true,
                Event::StatementEnd(at) => self.may_cut(at),
                Event::GraphEnd(at) => {
                    self.here.graph = None;
                    self.is_in_whole_graph = false;
                    self.may_cut(at);
                }
                Event::GraphBegin(head) => {
                    let has_comment = self.scanner.has_comment();
                    let head = repeatable(&self.text[head]).filter(|_| !has_comment);
                    self.is_in_whole_graph = head.is_none();
                    self.here.graph = head;
                }
                Event::Directive(range) => {
                    let is_good = self.declare(range.start, range.end).is_some();
                    self.is_doubtful = !is_good;
                }
            }
        }
    }

    fn may_cut(&mut self, at: usize) {
        if !self.is_in_whole_graph {
            let place = self.here.clone();
            self.cut = Some(Cut { at, place });
        }
    }

    /// Takes note of a directive, if it can be carried from block to block.
    fn declare(&mut self, start: usize, end: usize) -> Option<()> {
        let text = std::str::from_utf8(&self.text[start..end]).ok()?;
        let effect = self.here.state.effect(text)?;
        if self.here.state.is_changed_by(&effect) {
            Arc::make_mut(&mut self.here.state).apply(effect);
        }
        (!self.here.state.is_large()).then_some(())
    }

    /// Hands out the text in front of a cut.
    fn cut_at(&mut self, cut: Cut, reuse: Vec<u8>) -> TurtleBlock {
        let mut rest = reuse;
        rest.clear();
        rest.extend_from_slice(&self.text[cut.at..]);
        let mut bytes = std::mem::replace(&mut self.text, rest);
        bytes.truncate(cut.at);
        self.scanner.shift(cut.at);
        self.block(bytes, Some(cut.place))
    }

    /// A block of this text and this end; prepares the next one.
    fn block(&mut self, bytes: Vec<u8>, end: Option<Surroundings>) -> TurtleBlock {
        let line_end = memrchr(b'\n', &bytes);
        let mut line_start = match line_end {
            Some(_) => Vec::new(),
            None => self.next.line_start.clone(),
        };
        let line = &bytes[line_end.map_or(0, |at| at + 1)..];
        line_start.extend_from_slice(&line[line.len().saturating_sub(LINE_START_BYTES)..]);
        let surplus = line_start.len().saturating_sub(LINE_START_BYTES);
        line_start.drain(..surplus);
        let next = TurtleBlock {
            bytes: Vec::new(),
            format: self.format,
            number: self.next.number + 1,
            line: self.next.line + memchr_iter(b'\n', &bytes).count() as u64,
            line_start,
            start: end.clone().unwrap_or_else(|| self.here.clone()),
            end: None,
        };
        let block = std::mem::replace(&mut self.next, next);
        TurtleBlock {
            bytes,
            end,
            ..block
        }
    }
}

/// The head of a graph as one line; `None` if it does not mean the same when it is repeated, or is more than a
/// name: a statement whose end was not found, say.
fn repeatable(head: &[u8]) -> Option<Arc<str>> {
    if head.len() > GRAPH_HEAD_BYTES {
        return None;
    }
    let head = std::str::from_utf8(head).ok()?.trim_ascii();
    let keyword = head
        .get(..5)
        .filter(|word| word.eq_ignore_ascii_case("GRAPH"));
    let name = match head.as_bytes().get(5) {
        Some(b' ' | b'\t' | b'\r' | b'\n' | b'<') if keyword.is_some() => head[5..].trim_ascii(),
        _ => head,
    };
    // A bracket makes another node each time; the other bytes would stand between names.
    let is_one_name = match name.strip_prefix('<') {
        Some(iri) => iri.find('>') == Some(iri.len().wrapping_sub(1)),
        None => {
            !name.contains(|c: char| c.is_ascii_whitespace() || "<>\"'[](){},;#@\\".contains(c))
        }
    };
    is_one_name.then(|| head.replace(['\n', '\r'], " ").into())
}

/// What is left of a stream: pieces read before, and what follows.
struct Rest<R> {
    /// Pieces read before.
    pieces: VecDeque<Cursor<Vec<u8>>>,
    /// Whether the stream has ended.
    stream_end: StreamEnd,
    /// The stream.
    reader: R,
}

impl<R: Read> Read for Rest<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while let Some(piece) = self.pieces.front_mut() {
            let count = piece.read(target)?;
            if count > 0 {
                return Ok(count);
            }
            self.pieces.pop_front();
        }
        match std::mem::replace(&mut self.stream_end, StreamEnd::End) {
            StreamEnd::Open => {
                self.stream_end = StreamEnd::Open;
                self.reader.read(target)
            }
            StreamEnd::End => Ok(0),
            StreamEnd::Failed(error) => Err(error),
        }
    }
}
