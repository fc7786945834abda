//! How this Tasuki came onto the machine, and so what mends it: who has installed a package has no folder in
//! which `make` builds something.

use std::path::{Path, PathBuf};

/// The prefix of what packages install.
const PACKAGES: &str = "/usr";
/// The prefix of `make install`, unless it is told another.
const DEFAULT_PREFIX: &str = "/usr/local";
/// What `make install` has put below a prefix.
const LIST: &str = "lib/tasuki/installed-files";

/// How this Tasuki came onto the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As a package.
    Package,
    /// By `make install` with this prefix.
    Prefix(PathBuf),
    /// It was built, and runs where it was built.
    BuildTree,
}

impl Origin {
    /// The origin of the program at `program`, by the folder that it is in.
    pub fn of(program: &Path) -> Self {
        let Some(prefix) = program.parent().and_then(Path::parent) else { return Self::BuildTree };
        match program.parent().is_some_and(|folder| folder.ends_with("bin")) {
            true if prefix == Path::new(PACKAGES) => Self::Package,
            true if prefix.join(LIST).is_file() => Self::Prefix(prefix.to_owned()),
            _ => Self::BuildTree,
        }
    }

    /// The origin of this process's program.
    pub fn own() -> Self {
        std::env::current_exe().map_or(Self::BuildTree, |program| Self::of(&program))
    }

    /// The command that puts missing or broken parts of Tasuki back.
    pub fn restore(&self) -> String {
        match self {
            Self::Package => "sudo apt install --reinstall ./tasuki_*.deb (the package's file)".into(),
            Self::Prefix(prefix) if prefix == Path::new(DEFAULT_PREFIX) => {
                "make build && sudo make install, in the folder of Tasuki's sources".into()
            }
            Self::Prefix(prefix) => {
                let prefix = prefix.display();
                format!("make build && sudo make install PREFIX={prefix}, in the folder of Tasuki's sources")
            }
            Self::BuildTree => "make build".into(),
        }
    }

    /// The command that installs an MPI.
    pub fn install_mpi(&self) -> &'static str {
        match self {
            Self::BuildTree => "make setup (Debian's Open MPI), make peers (four others)",
            _ => {
                "sudo apt install openmpi-bin libopenmpi-dev (Debian's Open MPI); another MPI's mpirun is \
                 found in PATH"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // Debian Policy 9.1 and the Filesystem Hierarchy Standard: packages' programs are in /usr/bin.
    #[test]
    fn who_has_a_package_is_not_told_to_build() {
        let package = Origin::of(Path::new("/usr/bin/tasuki"));
        assert_eq!(package, Origin::Package);
        for said in [&package.restore(), package.install_mpi()] {
            assert!(
                said.contains("apt install") && !said.contains("make") && !said.contains("cargo"),
                "{said}"
            );
        }
    }

    #[test]
    fn make_install_and_a_build_tree_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bin/tasuki");
        assert_eq!(Origin::of(&program), Origin::BuildTree);
        assert_eq!(Origin::of(Path::new("target/ship/tasuki")).restore(), "make build");
        fs::create_dir_all(folder.path().join("lib/tasuki")).unwrap();
        fs::write(folder.path().join(LIST), "").unwrap();
        let origin = Origin::of(&program);
        assert_eq!(origin, Origin::Prefix(folder.path().into()));
        let said = origin.restore();
        assert!(said.contains(&format!("make install PREFIX={}", folder.path().display())), "{said}");
        assert!(!Origin::Prefix(DEFAULT_PREFIX.into()).restore().contains("PREFIX"));
    }
}
