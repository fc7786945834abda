//! Reading cluster files. The parser is strict: whatever it does not understand, or cannot be, is an error,
//! and all errors of a file are reported at once.

mod cables;
mod check;
mod document;
mod fields;
mod problem;
mod queue;
mod report;
mod switches;

pub use problem::Problem;
pub use report::{ClusterError, ClusterErrors, Place};

use crate::{Addressing, Cluster, QueueRules, SshOptions, TextError, names::cluster_name_from, text_of};
use report::Findings;
use std::{fs, path::Path};
use toml::de::DeTable;

impl Cluster {
    /// A cluster of this name without hosts, switches and cables; all else is as where a file says nothing.
    pub fn empty(name: String) -> Self {
        Self {
            name,
            source: None,
            addressing: Addressing::default(),
            fallback: true,
            authenticate: false,
            striping: None,
            tune: None,
            queue: QueueRules::default(),
            ssh: SshOptions::default(),
            hosts: Vec::new(),
            switches: Vec::new(),
            cables: Vec::new(),
        }
    }

    /// Reads a cluster file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ClusterErrors> {
        let path = path.as_ref();
        let bytes =
            fs::read(path).map_err(|error| ClusterErrors::of_file(path, Problem::Read(error.to_string())))?;
        Self::parse_bytes(bytes, Some(path))
    }

    /// Like [`Cluster::parse`], for bytes that should be text.
    pub fn parse_bytes(bytes: Vec<u8>, source: Option<&Path>) -> Result<Self, ClusterErrors> {
        // A byte that cannot be text is shown as one character, so that everything before it keeps its place.
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        match text_of(bytes) {
            Ok(text) => Self::parse(&text, source),
            Err(TextError::NotUtf8 { offset, byte, .. }) => {
                let findings = Findings::default();
                findings.add(offset..offset + 1, "", Problem::NotUtf8(byte));
                findings.finish(&shown, source)?;
                Self::parse(&shown, source)
            }
            Err(TextError::Read(error)) => {
                let path = source.unwrap_or_else(|| Path::new("<cluster>"));
                Err(ClusterErrors::of_file(path, Problem::Read(error.to_string())))
            }
        }
    }

    /// Reads the text of a cluster file. `source` is the file that it came from: it is used in messages, and
    /// for the cluster's name if the text gives none.
    pub fn parse(text: &str, source: Option<&Path>) -> Result<Self, ClusterErrors> {
        let findings = Findings::default();
        let (file, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            findings.add(span, "", Problem::Syntax(error.message().into()));
        }
        // If a table could be read only in part, later checks would report errors in what is right.
        if !findings.is_empty() {
            findings.finish(text, source)?;
        }
        let findings = Findings::default();
        let mut document = document::read(&file, &findings);
        check::names(&document, &findings);
        cables::connect(&mut document, &findings);
        check::macs(&document, &findings);
        check::mtus(&document, &findings);
        check::loops(&document, &findings);
        check::addresses(&document, &findings);
        check::tune(&document, &findings);
        // A cable that is wrong would seem to cut off the hosts behind it, so these checks need all cables to
        // be right.
        if findings.is_empty() {
            check::reachability(&document, &findings);
            check::striping(&document, &findings);
        }
        if findings.is_empty() {
            check::subnets(&document, &findings);
        }
        findings.finish(text, source)?;
        let mut cluster = document.cluster;
        cluster.source = source.map(Path::to_owned);
        if !document.named {
            let stem = source.and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
            cluster.name = stem.map_or_else(|| "cluster".into(), |stem| cluster_name_from(&stem));
        }
        Ok(cluster)
    }
}
