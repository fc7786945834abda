//! A lab to measure on: one that this command builds for itself, or one that is up.

use crate::{
    args::LabSource,
    failure::Failure,
    lab::{build, find},
    shape::{self, RatedShape},
};
use std::ffi::OsString;
use std::process::Command;
use tasuki_cluster::{AddressPlan, Cluster, HostId, generate};
use tasuki_lab::{LabOptions, StartingLab};

/// A lab with what a measurement must know of it.
pub struct LabNetwork {
    /// Name in records.
    pub name: String,
    /// Name of the lab.
    pub lab: String,
    /// Its cluster, MAC addresses filled in.
    pub cluster: Cluster,
    /// Its addresses.
    pub plan: AddressPlan,
    /// How it was built.
    pub options: LabOptions,
    /// Ends the lab, if it is this command's own.
    _own: Option<StartingLab>,
}

impl LabNetwork {
    /// Builds a lab that ends with this value.
    pub fn own(name: &str, cluster: Cluster, mut options: LabOptions) -> Result<Self, Failure> {
        options.name = format!("{}-{}", options.name, std::process::id());
        let starting = build(&cluster, &options)?;
        Self::new(name.into(), cluster, options, Some(starting))
    }

    /// The labs that a command's arguments ask for: generated ones, those of files, or one that is up.
    pub fn of(source: &LabSource) -> Result<Vec<Self>, Failure> {
        let mut networks = Vec::new();
        for shape in &source.shape {
            networks.push(Self::of_shape(source, shape)?);
        }
        let generated = generated(source);
        for file in &source.cluster {
            let cluster = shape::cluster(Some(file), None, &generated)?;
            let name = cluster.name.clone();
            networks.push(Self::own(&name, cluster, source.options(&name))?);
        }
        if networks.is_empty() {
            networks.push(Self::running(source.lab.as_deref())?);
        }
        Ok(networks)
    }

    /// A lab of this shape, with the other options of a command's arguments.
    pub fn of_shape(source: &LabSource, shape: &RatedShape) -> Result<Self, Failure> {
        if source.unshaped && shape.rate.is_some() {
            return Err(Failure::new(format!("--shape {shape} has a rate, and --unshaped means none")));
        }
        let cluster = shape::cluster(None, Some(&shape.shape), &generated(source))?;
        let mut options = source.options(&shape.to_string());
        options.rate = shape.rate.or(options.rate);
        Self::own(&shape.to_string(), cluster, options)
    }

    /// A lab that is up.
    pub fn running(name: Option<&str>) -> Result<Self, Failure> {
        let status = find(name)?.status()?;
        let cluster = Cluster::parse(&status.cluster, status.source.as_deref())?;
        Self::new(status.options.name.clone(), cluster, status.options, None)
    }

    fn new(
        name: String,
        cluster: Cluster,
        options: LabOptions,
        own: Option<StartingLab>,
    ) -> Result<Self, Failure> {
        let cluster = cluster.with_lab_macs();
        let plan = AddressPlan::new(&cluster)?;
        Ok(Self { name, lab: options.name.clone(), cluster, plan, options, _own: own })
    }

    /// A command in a host, as a process of its own; ended on every host when that process ends.
    pub fn command(&self, host: HostId, argv: impl IntoIterator<Item = OsString>) -> Command {
        self.exec(&["--job"], host, argv)
    }

    /// The same, but what it leaves behind in the background goes on.
    pub fn lasting(&self, host: HostId, argv: impl IntoIterator<Item = OsString>) -> Command {
        self.exec(&[], host, argv)
    }

    fn exec(&self, options: &[&str], host: HostId, argv: impl IntoIterator<Item = OsString>) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.args(["lab", "exec"]).args(options).args(["--lab", &self.lab]);
        command.arg(&self.cluster.host_of(host).name).arg("--").args(argv);
        command
    }
}

/// How clusters of shapes are generated for these arguments.
fn generated(source: &LabSource) -> generate::Options {
    generate::Options { mtu: source.mtu, ..generate::Options::default() }
}
