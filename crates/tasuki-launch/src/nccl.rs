//! What NCCL and RCCL need to use Tasuki's plug-in (`tasuki-nccl`).

use crate::{Provider, Setting, setting::Scope};
use std::path::PathBuf;
use tasuki_cluster::IDENTITY_INTERFACE;

/// The folder with the plug-in, below the provider's folder.
const FOLDER: &str = "nccl";
/// The plug-in, as NCCL_NET_PLUGIN=tasuki asks for it; the same under RCCL's name is beside it.
const FILE: &str = "libnccl-net-tasuki.so";

/// NCCL's network plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclPlugin {
    folder: PathBuf,
}

impl NcclPlugin {
    /// The plug-in that belongs to a provider. `Err`: where it would be.
    pub fn of(provider: &Provider) -> Result<Self, PathBuf> {
        let folder = provider.folder.join(FOLDER);
        let file = folder.join(FILE);
        if file.is_file() { Ok(Self { folder }) } else { Err(file) }
    }

    /// The variables by which NCCL or RCCL uses the plug-in, in every rank.
    pub fn settings(&self) -> Vec<Setting> {
        let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
        let (folder, interface) = (self.folder.to_string_lossy(), format!("={IDENTITY_INTERFACE}"));
        vec![
            set(
                "NCCL_NET_PLUGIN",
                "tasuki",
                "load the plug-in libnccl-net-tasuki.so (RCCL: librccl-net-...)",
            ),
            set("NCCL_NET", "Tasuki", "an error, instead of TCP over one NIC, if it cannot be used"),
            set("NCCL_SOCKET_IFNAME", &interface, "ranks find each other at the hosts' identity addresses"),
            Setting::new(Scope::Folders, "LD_LIBRARY_PATH", folder, "the folder that holds the plug-in"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_found_beside_the_provider() {
        let folder = tempfile::tempdir().unwrap();
        let provider =
            Provider { folder: folder.path().into(), library: folder.path().join("libtasuki-fi.so") };
        let place = folder.path().join("nccl");
        assert_eq!(NcclPlugin::of(&provider), Err(place.join("libnccl-net-tasuki.so")));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("libnccl-net-tasuki.so"), "ELF").unwrap();
        let settings = NcclPlugin::of(&provider).unwrap().settings();
        let path = settings.iter().find(|setting| setting.name == "LD_LIBRARY_PATH").unwrap();
        assert_eq!((path.value.as_str(), path.scope), (place.to_str().unwrap(), Scope::Folders));
    }
}
