//! What a host gets, as one file.

use crate::InstallError;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tasuki_launch::Provider;
use tasuki_process::run_limited;
use tempfile::TempDir;

/// How long packing may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Files of the provider's folder, and where hosts have them, below the prefix.
const PARTS: [[&str; 2]; 8] = [
    ["libtasuki-fi.so", "lib/tasuki/libtasuki-fi.so"],
    ["libfabric/libfabric.so.1", "lib/tasuki/libfabric/libfabric.so.1"],
    ["libfabric/libtasuki-openmpi.so", "lib/tasuki/libfabric/libtasuki-openmpi.so"],
    ["nccl/libnccl-net-tasuki.so", "lib/tasuki/nccl/libnccl-net-tasuki.so"],
    // RCCL asks for the same by a name of its own.
    ["nccl/libnccl-net-tasuki.so", "lib/tasuki/nccl/librccl-net-tasuki.so"],
    ["torch/libtasuki-torch.so", "lib/tasuki/torch/libtasuki-torch.so"],
    ["torch/tasuki_torch.py", "lib/tasuki/torch/tasuki_torch.py"],
    ["omp/libtasuki-omp.so", "lib/tasuki/omp/libtasuki-omp.so"],
];

/// What a host gets, in a temporary file, which goes with this value.
#[derive(Debug)]
pub struct Bundle {
    folder: TempDir,
}

impl Bundle {
    /// Packs this program and its provider: symbols are left out where there is a `strip`.
    ///
    /// # Errors
    /// If a part is not there, or cannot be packed.
    pub fn of(program: &Path, provider: &Provider) -> Result<Self, InstallError> {
        let folder = tempfile::tempdir().map_err(|source| at(&std::env::temp_dir(), source))?;
        let bundle = Self { folder };
        let files = bundle.folder.path().join("files");
        bundle.put(program, "bin/tasuki", 0o755)?;
        for [from, to] in PARTS {
            bundle.put(&provider.folder.join(from), to, 0o644)?;
        }
        let mut tar = Command::new("tar");
        tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--file"]);
        tar.arg(bundle.file()).arg("--directory").arg(&files).args(["bin", "lib"]);
        let packed = run_limited(&mut tar, LIMIT).map_err(|error| InstallError::Pack(error.to_string()))?;
        match packed.is_success() {
            true => Ok(bundle),
            false => Err(InstallError::Pack(format!("{}: {}", packed.reason(), packed.stderr_tail(3)))),
        }
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("bundle.tar.gz")
    }

    fn put(&self, from: &Path, to: &str, mode: u32) -> Result<(), InstallError> {
        if !from.is_file() {
            return Err(InstallError::Missing(from.into()));
        }
        let to = self.folder.path().join("files").join(to);
        let folder = to.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|source| at(folder, source))?;
        fs::copy(from, &to).map_err(|source| at(from, source))?;
        // What is not stripped works as well, and is larger.
        let _ = run_limited(Command::new("strip").arg("--strip-unneeded").arg(&to), LIMIT);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&to, mode).map_err(|source| at(&to, source))
    }
}

fn at(path: &Path, source: io::Error) -> InstallError {
    InstallError::File { path: path.into(), source }
}
