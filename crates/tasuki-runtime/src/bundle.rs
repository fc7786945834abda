//! What a daemon must know of its cluster: hosts, addresses and keys. One bundle per host, which no other
//! host and no user may read.

use crate::{RuntimeError, keys};
use serde::{Deserialize, Serialize};
use std::{fs, io::ErrorKind, os::unix::fs::DirBuilderExt, path::Path};
use tasuki_cluster::{AddressStyle, Cluster, HostId, QueueRules};
use tasuki_control::UserLimits;
use tasuki_host::replace_file;

/// The port at which the daemon that keeps the queue listens. It is in no list of IANA's.
pub const PORT: u16 = 7714;

/// The file's name in the daemon's folder.
const FILE: &str = "bundle.json";

/// A host of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where the other hosts reach it: an address, or a name.
    pub address: String,
    /// Slots that the cluster file gives it; `None`: as many as it has cores.
    pub slots: Option<u32>,
    /// Its certificate, DER.
    pub certificate: Vec<u8>,
}

/// What a host's daemon must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The cluster's name.
    pub cluster: String,
    /// Checksum of the cluster file's text.
    pub checksum: u32,
    /// The port at which the daemon that keeps the queue listens.
    pub port: u16,
    /// Whether the hosts are a lab's, which share one machine.
    pub lab: bool,
    /// Whether every packet between hosts carries a keyed tag.
    pub authenticate: bool,
    /// What the jobs of each user may take.
    #[serde(default)]
    pub limits: UserLimits,
    /// The hosts, in the cluster's order. The first one keeps the queue.
    pub hosts: Vec<Member>,
    /// The certificate of the cluster's authority, DER.
    pub authority: Vec<u8>,
    /// Which of the hosts this one is.
    pub own: usize,
    /// Its private key, DER (PKCS #8).
    pub key: Vec<u8>,
}

/// What the jobs of each user may take, as the cluster file says.
fn limits_of(cluster: &Cluster) -> UserLimits {
    let QueueRules { jobs_per_user, slots_per_user, waiting_per_user, time_max } = cluster.queue;
    UserLimits { jobs: jobs_per_user, slots: slots_per_user, waiting: waiting_per_user, time: time_max }
}

impl Bundle {
    /// Makes new keys for a cluster, and the bundle of every host. `lab`: the hosts are a lab's.
    ///
    /// # Errors
    /// If the cluster has no host or no network that leads to all, or the system gives no random numbers.
    pub fn make_all(cluster: &Cluster, checksum: u32, lab: bool) -> Result<Vec<Self>, RuntimeError> {
        if cluster.hosts.is_empty() || cluster.addressing.style != AddressStyle::Identity {
            return Err(RuntimeError::Cluster(cluster.name.clone()));
        }
        let names: Vec<String> = cluster.hosts.iter().map(|host| host.name.clone()).collect();
        let (authority, keys) = keys::make(&names).map_err(|error| RuntimeError::Keys(error.to_string()))?;
        let address = |number: usize| match (lab, &cluster.hosts[number].management) {
            (true, _) => cluster.lab_management(HostId(number)).to_string(),
            (false, Some(management)) => management.address().to_owned(),
            (false, None) => names[number].clone(),
        };
        let member = |number: usize| Member {
            name: names[number].clone(),
            address: address(number),
            slots: cluster.hosts[number].cores,
            certificate: keys[number].certificate.clone(),
        };
        let hosts: Vec<Member> = (0..names.len()).map(member).collect();
        let bundle = |own: usize| Self {
            cluster: cluster.name.clone(),
            checksum,
            port: PORT,
            lab,
            authenticate: cluster.authenticate,
            limits: limits_of(cluster),
            hosts: hosts.clone(),
            authority: authority.clone(),
            own,
            key: keys[own].key.clone(),
        };
        Ok((0..names.len()).map(bundle).collect())
    }

    /// Whether this host keeps the queue.
    pub fn is_head(&self) -> bool {
        self.own == 0
    }

    /// The host that keeps the queue.
    pub fn head(&self) -> &Member {
        &self.hosts[0]
    }

    /// This host.
    pub fn member(&self) -> &Member {
        &self.hosts[self.own]
    }

    /// Reads a bundle's text.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, RuntimeError> {
        let bundle: Self =
            serde_json::from_str(text).map_err(|error| RuntimeError::Bundle(error.to_string()))?;
        match bundle.own < bundle.hosts.len() {
            true => Ok(bundle),
            false => Err(RuntimeError::Bundle("it names no host".into())),
        }
    }

    /// Its text, with the private key.
    pub fn to_text(&self) -> String {
        // Structures of text and numbers have a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the bundle that lies in a daemon's folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn load(folder: &Path) -> Result<Self, RuntimeError> {
        let file = folder.join(FILE);
        match fs::read_to_string(&file) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(RuntimeError::NoBundle(file)),
            Err(source) => Err(RuntimeError::File { doing: "read", path: file, source }),
        }
    }

    /// Puts the bundle into a daemon's folder, which is made if need be, for root's eyes only.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn store(&self, folder: &Path) -> Result<(), RuntimeError> {
        let file = folder.join(FILE);
        let fail = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| RuntimeError::File { doing, path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail("make", folder))?;
        replace_file(&file, self.to_text().as_bytes(), 0o600).map_err(fail("write", &file))
    }

    /// Removes the bundle, and with it the keys, from a daemon's folder.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub fn remove(folder: &Path) -> Result<(), RuntimeError> {
        let file = folder.join(FILE);
        match fs::remove_file(&file) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(RuntimeError::File { doing: "remove", path: file, source })
            }
            _ => Ok(()),
        }
    }
}
