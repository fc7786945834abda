//! The NICs for which raw lanes are given.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use tasuki_cluster::RailTable;

/// The NICs for which raw lanes are given.
#[derive(Clone, Debug)]
pub enum Nics {
    /// The NICs of these names.
    Named(BTreeSet<String>),
    /// The NICs of the rails in this file, which `tasuki apply` and the lab write. It is read again when it
    /// has changed.
    OfRails(PathBuf),
}

impl Nics {
    /// Those of the named NICs that this machine does not have now. One may come later.
    pub fn absent(&self) -> Vec<&str> {
        let is_here = |name: &str| Path::new("/sys/class/net").join(name).exists();
        match self {
            Self::Named(names) => names.iter().map(String::as_str).filter(|name| !is_here(name)).collect(),
            Self::OfRails(_) => Vec::new(),
        }
    }
}

/// What tells one version of a file from the next.
type Stamp = (u64, u64, i64, i64);

/// [`Nics`] with what the file said when it was last read.
#[derive(Debug)]
pub(crate) struct NicList {
    nics: Nics,
    known: Option<(Stamp, BTreeSet<String>)>,
}

impl NicList {
    pub(crate) fn new(nics: Nics) -> NicList {
        NicList { nics, known: None }
    }

    /// Whether lanes of this NIC are given; if not, why.
    pub(crate) fn allows(&mut self, nic: &str) -> Result<(), String> {
        let path = match &self.nics {
            Nics::Named(names) if names.contains(nic) => return Ok(()),
            Nics::Named(_) => {
                return Err(format!("{nic} is none of the NICs that the broker was told (--nic)"));
            }
            Nics::OfRails(path) => path.clone(),
        };
        let meta = fs::metadata(&path);
        let stamp = meta.map(|meta| (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec())).ok();
        if stamp.is_none() || self.known.as_ref().map(|(known, _)| *known) != stamp {
            let table = RailTable::load(&path).map_err(|error| error.to_string())?;
            let names = table.peers.into_values().flat_map(|peer| peer.rails).map(|rail| rail.nic).collect();
            self.known = stamp.map(|stamp| (stamp, names));
        }
        match &self.known {
            Some((_, names)) if names.contains(nic) => Ok(()),
            _ => Err(format!("{nic} is not among the NICs of {}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every Linux has lo, and names of NICs have 15 characters at most.
    #[test]
    fn nics_that_are_not_there_are_told() {
        let names = ["lo", "no-such-interface"].map(str::to_owned);
        assert_eq!(Nics::Named(names.into()).absent(), ["no-such-interface"]);
    }

    #[test]
    fn nics_are_those_of_the_rails_as_they_are_now() {
        let folder = std::env::temp_dir().join(format!("tasuki-broker-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("rails.json");
        let write = |nic: &str| {
            let rail = format!(
                r#"{{"rail":0,"nic":"{nic}","local":"10.78.1.1","remote":"10.78.2.1",{ends}}}"#,
                ends = r#""mtu":1500,"rate_mbits":1000"#
            );
            let peer = format!(r#"{{"host":"n2","rails":[{rail}]}}"#);
            let peers = format!(r#"{{"10.77.0.2":{peer}}}"#);
            let text = format!(r#"{{"version":1,"host":"n1","identity":"10.77.0.1","peers":{peers}}}"#);
            // `apply` replaces the file too: it writes a new one and renames it.
            fs::write(folder.join("new"), text).unwrap();
            fs::rename(folder.join("new"), &file).unwrap();
        };
        let mut list = NicList::new(Nics::OfRails(file.clone()));
        assert!(list.allows("eth1").unwrap_err().contains("rails.json"));
        write("eth1");
        assert_eq!((list.allows("eth1"), list.allows("eth2").is_err()), (Ok(()), true));
        write("eth22");
        assert_eq!((list.allows("eth22"), list.allows("eth1").is_err()), (Ok(()), true));
        fs::remove_dir_all(&folder).unwrap();
        assert!(list.allows("eth22").is_err());
    }
}
