//! A lab to measure on: one that this command builds for itself, or one that is up.

use crate::lab::build;
use std::ops::Deref;
use tasuki_args::{HostSource, shape, shape::RatedShape};
use tasuki_cluster::{AddressPlan, Cluster, generate};
use tasuki_fleet::LabHosts;
use tasuki_lab::{LabOptions, StartingLab};
use tasuki_terminal::Failure;

/// A lab with what a measurement must know of it.
pub struct LabNetwork {
    /// Name in records.
    pub name: String,
    /// Its hosts, and how they are reached.
    hosts: LabHosts,
    /// Its addresses.
    pub plan: AddressPlan,
    /// Ends the lab, if it is this command's own.
    _own: Option<StartingLab>,
}

impl Deref for LabNetwork {
    type Target = LabHosts;

    fn deref(&self) -> &LabHosts {
        &self.hosts
    }
}

impl LabNetwork {
    /// Builds a lab that ends with this value.
    pub fn own(name: &str, cluster: Cluster, mut options: LabOptions) -> Result<Self, Failure> {
        options.name = format!("{}-{}", options.name, std::process::id());
        let starting = build(&cluster, &options)?;
        Self::new(name.into(), LabHosts::new(cluster, options), Some(starting))
    }

    /// The labs that a command's arguments ask for: generated ones, those of files, or one that is up.
    pub fn of(source: &HostSource) -> Result<Vec<Self>, Failure> {
        let mut networks = Vec::new();
        for (number, shape) in source.shape.iter().enumerate() {
            if source.shape[..number].iter().any(|known| known.to_string() == shape.to_string()) {
                return Err(Failure::new(format!("--shape {shape} is given twice")));
            }
            networks.push(Self::of_shape(source, shape)?);
        }
        let generated = generated(source);
        for file in &source.lab_of {
            let cluster = shape::cluster(Some(file), None, &generated)?;
            let name = cluster.name.clone();
            if networks.iter().any(|known: &Self| known.name == name) {
                return Err(Failure::new(format!(
                    "{}: results could not tell this lab from another one, which is called {name} too: write \
                     another `name` into its [cluster]",
                    file.display()
                )));
            }
            let mut options = source.options(&name);
            // Names of labs are short, so that the beginnings of two may be equal.
            options.name += &format!("-{}", networks.len());
            networks.push(Self::own(&name, cluster, options)?);
        }
        if networks.is_empty() {
            networks.push(Self::running(source.lab.as_deref())?);
        }
        Ok(networks)
    }

    /// A lab of this shape, with the other options of a command's arguments.
    pub fn of_shape(source: &HostSource, shape: &RatedShape) -> Result<Self, Failure> {
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
        let hosts = LabHosts::running(name)?;
        Self::new(hosts.lab.clone(), hosts, None)
    }

    /// The hosts of a lab that is up.
    pub fn of_hosts(hosts: LabHosts) -> Result<Self, Failure> {
        Self::new(hosts.lab.clone(), hosts, None)
    }

    fn new(name: String, hosts: LabHosts, own: Option<StartingLab>) -> Result<Self, Failure> {
        let plan = AddressPlan::new(&hosts.cluster)?;
        Ok(Self { name, hosts, plan, _own: own })
    }
}

/// How clusters of shapes are generated for these arguments.
fn generated(source: &HostSource) -> generate::Options {
    generate::Options { mtu: source.mtu, ..generate::Options::default() }
}
