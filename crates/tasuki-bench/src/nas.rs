//! The NAS Parallel Benchmarks of `bench/nas`, Himeno and Linpack: their kernels, classes and numbers of
//! ranks, how their programs are built ([`build`]) and started ([`Options`]), and what they print
//! ([`Outcome`]). `docs/reference/nas.md` describes them.

mod build;
pub mod challenge;
pub mod cross;
pub mod linpack;
mod outcome;
mod published;
mod report;

pub use build::{BuildError, build};
pub use outcome::{Breakdown, Outcome, ParseError, parse};
pub use published::{PUBLISHED, Published, published};
pub use report::{Against, Case, NasRecord, NasReport, is_break_even};

use std::{ffi::OsString, fmt, path::PathBuf, str::FromStr};
use thiserror::Error;

/// One of the benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// Integer sort: large all-to-all messages.
    Is,
    /// Embarrassingly parallel: three sums at the end.
    Ep,
    /// Conjugate gradients: messages of medium size and many small sums.
    Cg,
    /// Multigrid: messages of all sizes between neighbours.
    Mg,
    /// Three-dimensional Fourier transforms: large all-to-all messages.
    Ft,
    /// Symmetric successive over-relaxation: very many small messages between neighbours.
    Lu,
    /// Himeno: Jacobi's method in three dimensions in single precision; messages are faces between
    /// neighbours. It is not part of the NAS suite.
    Himeno,
    /// Linpack, as part of the HPC Challenge of the Linux distribution ([`linpack`]): large messages along
    /// rows and columns.
    Linpack,
}

impl Kernel {
    /// All kernels that are built from `bench/nas`.
    pub const ALL: [Self; 7] = [Self::Is, Self::Ep, Self::Cg, Self::Mg, Self::Ft, Self::Lu, Self::Himeno];

    /// Its classes, the smallest first.
    pub fn classes(self) -> [Class; 4] {
        match self {
            Self::Himeno => [Class::Xs, Class::S, Class::M, Class::L],
            _ => [Class::S, Class::W, Class::A, Class::B],
        }
    }

    /// Its customary name, in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Is => "IS",
            Self::Ep => "EP",
            Self::Cg => "CG",
            Self::Mg => "MG",
            Self::Ft => "FT",
            Self::Lu => "LU",
            Self::Himeno => "HIMENO",
            Self::Linpack => "LINPACK",
        }
    }

    /// The name of its program, in small letters.
    pub fn program(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::Ep => "ep",
            Self::Cg => "cg",
            Self::Mg => "mg",
            Self::Ft => "ft",
            Self::Lu => "lu",
            Self::Himeno => "himeno",
            Self::Linpack => linpack::PROGRAM,
        }
    }

    /// The largest number of ranks.
    pub const MOST_RANKS: u32 = 64;

    /// Whether it runs on this number of ranks: all kernels and classes take powers of two up to
    /// [`Kernel::MOST_RANKS`].
    pub fn allows(self, ranks: u32) -> bool {
        ranks.is_power_of_two() && ranks <= Self::MOST_RANKS
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no kernel, or of no class.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} '{name}': {choices}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    choices: &'static str,
}

impl FromStr for Kernel {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut all = Self::ALL.into_iter().chain([Self::Linpack]);
        // Linpack is also known by the name of its program, which measures more.
        let is_hpcc = name.eq_ignore_ascii_case(linpack::PROGRAM);
        let wanted = if is_hpcc { Self::Linpack.name() } else { name };
        let found = all.find(|kernel| kernel.name().eq_ignore_ascii_case(wanted));
        found.ok_or_else(|| UnknownName {
            kind: "NAS kernel",
            name: name.into(),
            choices: "is, ep, cg, mg, ft, lu, himeno or linpack",
        })
    }
}

/// How large the problem is; [`Kernel::classes`] says which of them a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Himeno's smallest size, XS.
    Xs,
    /// Sample: well below a second. (Himeno's size S is larger.)
    S,
    /// Workstation: about a second.
    W,
    /// Seconds on one core.
    A,
    /// Half a minute or so on one core; up to 2 GB in all.
    B,
    /// Himeno's size M.
    M,
    /// Himeno's size L: 2 GB in all.
    L,
}

impl Class {
    const ALL: [Self; 7] = [Self::Xs, Self::S, Self::W, Self::A, Self::B, Self::M, Self::L];

    /// Its letter in arguments and output of the programs; `X` for XS.
    pub fn letter(self) -> char {
        match self {
            Self::Xs => 'X',
            Self::S => 'S',
            Self::W => 'W',
            Self::A => 'A',
            Self::B => 'B',
            Self::M => 'M',
            Self::L => 'L',
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

impl FromStr for Class {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        if name.eq_ignore_ascii_case("XS") {
            return Ok(Self::Xs);
        }
        let found = Self::ALL.into_iter().find(|class| name.eq_ignore_ascii_case(&class.to_string()));
        found.ok_or_else(|| UnknownName {
            kind: "class",
            name: name.into(),
            choices: "S, W, A or B; for Himeno XS, S, M or L",
        })
    }
}

/// A message to damage on its way to the program, to test that verification notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the message, counted from 1 by the rank that receives it; results of collective operations
    /// count too.
    pub message: u32,
    /// The rank that receives it; if `None`, the last one.
    pub rank: Option<u32>,
    /// The bit of its payload; if `None`, the highest exponent bit of a number in its middle.
    pub bit: Option<u64>,
}

/// Options of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of the problem.
    pub class: Class,
    /// Whether to print computation, communication and waiting of each rank. This adds a barrier before each
    /// collective operation.
    pub profile: bool,
    /// Compare digests of all messages' payload, beside the kernel's own verification. Costs a pass over it
    /// at both ends.
    pub digest: bool,
    /// Write the communication trace to this file, on the host of rank 0.
    pub trace: Option<PathBuf>,
    /// Damage a message.
    pub damage: Option<Damage>,
}

impl Options {
    /// An ordinary run.
    pub fn new(class: Class) -> Self {
        Self { class, profile: false, digest: false, trace: None, damage: None }
    }

    /// The program's arguments.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--class".into(), self.class.to_string().into()];
        if self.profile {
            words.push("--profile".into());
        }
        if self.digest {
            words.push("--digest".into());
        }
        if let Some(path) = &self.trace {
            words.extend(["--trace".into(), path.clone().into_os_string()]);
        }
        if let Some(Damage { message, rank, bit }) = self.damage {
            let rank = rank.map_or(-1, i64::from);
            let mut word = format!("{message}:{rank}");
            if let Some(bit) = bit {
                word += &format!(":{bit}");
            }
            words.extend(["--damage".into(), word.into()]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.name().parse(), Ok(kernel));
            assert_eq!(kernel.program().parse(), Ok(kernel));
            for class in kernel.classes() {
                assert_eq!(class.to_string().parse(), Ok(class));
            }
        }
        assert_eq!("xs".parse(), Ok(Class::Xs));
        assert_eq!("linpack".parse(), Ok(Kernel::Linpack));
        assert_eq!("hpcc".parse(), Ok(Kernel::Linpack));
        assert!("bt".parse::<Kernel>().is_err_and(|error| error.to_string().contains("'bt'")));
        assert!("C".parse::<Class>().is_err());
    }

    #[test]
    fn ranks_are_powers_of_two_up_to_64() {
        let allowed: Vec<u32> = (0..200).filter(|&ranks| Kernel::Lu.allows(ranks)).collect();
        assert_eq!(allowed, [1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn arguments_are_those_of_the_programs() {
        let damage = Some(Damage { message: 3, rank: None, bit: Some(7) });
        let trace = Some(PathBuf::from("a b"));
        let options = Options { class: Class::Xs, profile: true, digest: true, trace, damage };
        let words = ["--class", "X", "--profile", "--digest", "--trace", "a b", "--damage", "3:-1:7"];
        assert_eq!(options.arguments(), words);
        assert_eq!(Options::new(Class::A).arguments(), ["--class", "A"]);
    }
}
