//! What PyTorch needs to find its backend `tasuki` (`tasuki-torch`).

use crate::{Provider, Setting, setting::Scope};
use std::path::PathBuf;
use tasuki_cluster::IDENTITY_INTERFACE;

/// The folder with the module and its native half, below the provider's folder.
const FOLDER: &str = "torch";
const FILES: [&str; 2] = ["tasuki_torch.py", "libtasuki-torch.so"];

/// The variables by which Python finds the module `tasuki_torch`. `Err`: a file of it that is missing.
pub fn torch_settings(provider: &Provider) -> Result<Vec<Setting>, PathBuf> {
    let folder = provider.folder.join(FOLDER);
    if let Some(missing) = FILES.map(|file| folder.join(file)).into_iter().find(|file| !file.is_file()) {
        return Err(missing);
    }
    let why = "the folder that holds the module tasuki_torch";
    let interface = "what PyTorch says for itself goes between the hosts' identity addresses";
    Ok(vec![
        Setting::new(Scope::Folders, "PYTHONPATH", folder.to_string_lossy(), why),
        Setting::new(Scope::Variable, "GLOO_SOCKET_IFNAME", IDENTITY_INTERFACE, interface),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_is_found_beside_the_provider_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let provider =
            Provider { folder: folder.path().into(), library: folder.path().join("libtasuki-fi.so") };
        let place = folder.path().join("torch");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("tasuki_torch.py"), "").unwrap();
        assert_eq!(torch_settings(&provider), Err(place.join("libtasuki-torch.so")));
        fs::write(place.join("libtasuki-torch.so"), "ELF").unwrap();
        let settings = torch_settings(&provider).unwrap();
        assert_eq!((settings[0].name, settings[0].value.as_str()), ("PYTHONPATH", place.to_str().unwrap()));
    }
}
