//! The entry point of the generator: options in, files and a manifest out.
//!
//! The data set is written first, then the update file, then the data directory, whose presence
//! therefore says that the rest is complete. Memory does not grow with the data set, apart from
//! the owners kept in the `world`.

use crate::BsbmError;
use crate::emit::Counts;
use crate::manifest::{Manifest, PartCounts, UpdateSummary};
use crate::outputs::{Outputs, Target, io_error, numbered_path};
use crate::parameters::ParameterPool;
use crate::pipeline::{Job, run};
use crate::plan::Content;
use crate::update::{HoldOut, write_update};
use crate::vocabulary::{Compression, Format};
use crate::world::World;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The seed used when none is given.
pub const DEFAULT_SEED: u64 = 53_223_436;

/// Triples per product, for estimating the total before the work is done.
const TRIPLES_PER_PRODUCT: u64 = 350;

/// Where the data set goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file, or several with numbers added to this name.
    File(PathBuf),
}

impl Output {
    /// The output that a command-line argument names: `-` is standard output.
    pub fn from_argument(text: &str) -> Output {
        match text {
            "-" => Output::Stdout,
            path => Output::File(PathBuf::from(path)),
        }
    }
}

/// What to generate.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// The number of products.
    pub products: u64,
    /// Whether products get the types above their leaf type.
    pub forward_chaining: bool,
    /// The syntax.
    pub format: Format,
    /// The compression of the data set.
    pub compression: Compression,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of worker threads; 0 stands for one per core. Has no effect on the output.
    pub threads: usize,
    /// The number of files that the data set is cut into.
    pub files: usize,
    /// Where the data set goes.
    pub output: Output,
    /// The number of update transactions.
    pub update_transactions: u64,
    /// The held-out products of each update transaction.
    pub products_per_transaction: u64,
    /// The update file, always N-Triples; its compression follows from its name.
    pub update_output: Option<PathBuf>,
    /// Where the parameters of the driver and the manifest go.
    pub data_dir: Option<PathBuf>,
}

impl GenerateOptions {
    /// N-Triples of `products` products to standard output, without updates.
    pub fn new(products: u64) -> GenerateOptions {
        GenerateOptions {
            products,
            forward_chaining: false,
            format: Format::NTriples,
            compression: Compression::None,
            seed: DEFAULT_SEED,
            threads: 0,
            files: 1,
            output: Output::Stdout,
            update_transactions: 0,
            products_per_transaction: 1,
            update_output: None,
            data_dir: None,
        }
    }

    fn hold_out(&self, compression: Compression) -> HoldOut {
        HoldOut {
            transactions: self.update_transactions,
            products_per_transaction: self.products_per_transaction,
            all_types: self.forward_chaining,
            compression,
        }
    }

    fn job(&self) -> Result<Job, BsbmError> {
        let last_product = self
            .hold_out(Compression::None)
            .last_product_kept(self.products)?;
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            threads => threads,
        };
        Ok(Job {
            content: Content {
                all_types: self.forward_chaining,
                last_product,
            },
            format: self.format,
            compression: self.compression,
            threads,
            files: self.files.max(1),
        })
    }
}

/// How far the generator has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Triples written.
    pub triples: u64,
    /// Bytes written, before compression.
    pub plain_bytes: u64,
    /// An estimate of the triples in the end.
    pub triples_expected: u64,
}

/// Writes the data set, the update file and the data directory that the options ask for.
pub fn generate(
    options: &GenerateOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Manifest, BsbmError> {
    let world = World::new(options.products, options.seed)?;
    if options.update_transactions > 0 && options.update_output.is_none() {
        return Err(BsbmError::NoUpdateOutput);
    }
    let mut manifest = match &options.output {
        Output::Stdout if options.files > 1 => {
            return Err(BsbmError::FilesOnStandardOutput {
                files: options.files,
            });
        }
        Output::Stdout => {
            let mut stdout = std::io::stdout().lock();
            write_main(&world, options, Target::Stream(&mut stdout), progress)?
        }
        Output::File(path) => {
            let paths = match options.files {
                0 | 1 => vec![path.clone()],
                files => (1..=files)
                    .map(|number| numbered_path(path, number, files))
                    .collect(),
            };
            write_main(&world, options, Target::Files(paths), progress)?
        }
    };
    if let (Some(path), 1..) = (&options.update_output, options.update_transactions) {
        let (_, compression) = Format::from_path(path)?;
        let mut file = File::create(path).map_err(io_error("creating", path))?;
        let summary = summarise_update(&world, options, compression, &mut file, path)?;
        manifest.update = Some(summary);
    }
    if let Some(data_dir) = &options.data_dir {
        std::fs::create_dir_all(data_dir).map_err(io_error("creating", data_dir))?;
        ParameterPool::of_world(&world).save(data_dir)?;
        write_json(&data_dir.join("manifest.json"), &manifest)?;
    }
    Ok(manifest)
}

/// Writes the data set to a stream, as one file; held-out products are left out, and the outputs
/// that the options name are not touched.
pub fn generate_to(
    writer: &mut dyn Write,
    options: &GenerateOptions,
) -> Result<Manifest, BsbmError> {
    let world = World::new(options.products, options.seed)?;
    let mut options = options.clone();
    options.files = 1;
    write_main(&world, &options, Target::Stream(writer), &mut |_| ())
}

/// Writes the update file to a stream, without compression.
pub fn generate_update_to(
    writer: &mut dyn Write,
    options: &GenerateOptions,
) -> Result<UpdateSummary, BsbmError> {
    let world = World::new(options.products, options.seed)?;
    summarise_update(&world, options, Compression::None, writer, Path::new("-"))
}

fn summarise_update(
    world: &World,
    options: &GenerateOptions,
    compression: Compression,
    writer: &mut dyn Write,
    path: &Path,
) -> Result<UpdateSummary, BsbmError> {
    let hold_out = options.hold_out(compression);
    let (counts, plain_bytes) = write_update(world, hold_out, writer, path)?;
    Ok(UpdateSummary {
        name: path.display().to_string(),
        transactions: options.update_transactions,
        products_per_transaction: options.products_per_transaction,
        plain_bytes,
        counts: PartCounts::new(&counts),
    })
}

fn write_main(
    world: &World,
    options: &GenerateOptions,
    target: Target<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Manifest, BsbmError> {
    let job = options.job()?;
    let mut outputs = Outputs::new(target, options.format, options.compression)?;
    let mut counts = Counts::new();
    let mut plain_bytes = 0;
    let triples_expected = world.products * TRIPLES_PER_PRODUCT;
    run(world, job, &mut |done| {
        outputs.write(done)?;
        counts.add(&done.counts);
        plain_bytes += done.plain_bytes();
        progress(Progress {
            triples: counts.triples(),
            plain_bytes,
            triples_expected,
        });
        Ok(())
    })?;
    let mut manifest = Manifest::new(
        world,
        options.forward_chaining,
        options.format,
        options.compression,
        &counts,
    );
    manifest.files = outputs.finish()?;
    Ok(manifest)
}

/// Writes a value as JSON, whole or not at all as far as an error can tell.
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), BsbmError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| BsbmError::Json {
        path: path.to_path_buf(),
        source,
    })?;
    text.push(b'\n');
    std::fs::write(path, text).map_err(io_error("writing", path))
}
