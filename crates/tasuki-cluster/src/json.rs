//! A cluster as JSON: cables are given by the names of their ends instead of by indices.

use crate::{Addressing, Cluster, Host, QueueRules, SshOptions, Striping, Switch, Tuning};
use serde::{Serialize, Serializer};
use std::path::Path;

#[derive(Serialize)]
struct Names<'a> {
    name: &'a str,
    source: Option<&'a Path>,
    addressing: Addressing,
    fallback: bool,
    authenticate: bool,
    striping: Option<&'a Striping>,
    tune: Option<Tuning>,
    queue: QueueRules,
    ssh: &'a SshOptions,
    hosts: &'a [Host],
    switches: &'a [Switch],
    cables: Vec<CableNames>,
}

#[derive(Serialize)]
struct CableNames {
    ends: [String; 2],
    length_m: Option<f64>,
}

impl Serialize for Cluster {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cable = |cable: &crate::Cable| CableNames {
            ends: cable.ends.map(|end| self.end_name(end)),
            length_m: cable.length_m,
        };
        Names {
            name: &self.name,
            source: self.source.as_deref(),
            addressing: self.addressing,
            fallback: self.fallback,
            authenticate: self.authenticate,
            striping: self.striping.as_ref(),
            tune: self.tune,
            queue: self.queue,
            ssh: &self.ssh,
            hosts: &self.hosts,
            switches: &self.switches,
            cables: self.cables.iter().map(cable).collect(),
        }
        .serialize(serializer)
    }
}
