//! What addresses are called.

use std::ops::Range;

/// Gives addresses of the program their names.
pub trait Names {
    /// The place of an instruction.
    fn code(&self, address: u64) -> Code;
    /// The variable at an address.
    fn data(&self, address: u64) -> Option<Data>;
}

/// A place in the program's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// The function, as the compiler calls it.
    pub function: Option<String>,
    /// The source file and the line.
    pub line: Option<(String, u32)>,
    /// The file that the code comes from; empty: not the program's, nor a library's that it calls.
    pub file: String,
}

/// A variable of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub range: Range<u64>,
}

/// What lies in a part of the shared memory, beside what the program has named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A variable of the program.
    Variable,
    /// A block of allocated memory of a page or more.
    Block,
    /// Allocated memory of less than a page a block.
    Small,
    /// Variables of functions.
    Stack,
    /// What iterations and sections are handed out by.
    Schedule,
    /// What memory is handed out by.
    Heap,
    /// Something else.
    Other,
}

/// A part of the shared memory.
#[derive(Clone, Debug)]
pub struct Area {
    /// Where it lies.
    pub range: Range<u64>,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

impl Code {
    /// File and line, or as much as is known.
    pub fn place(&self) -> String {
        match (&self.line, self.function()) {
            (Some((file, line)), _) => format!("{}:{line}", last(file)),
            (None, Some(Function { name, region: Some(region) })) => format!("{name} (parallel {region})"),
            (None, Some(function)) => function.name,
            (None, None) if self.file.is_empty() => "unknown".to_owned(),
            (None, None) => last(&self.file).to_owned(),
        }
    }

    /// The function in the source: gcc calls what it makes of a region `NAME._omp_fn.NUMBER`.
    fn function(&self) -> Option<Function> {
        let whole = self.function.as_deref()?;
        let (name, region) =
            whole.split_once("._omp_fn.").map_or((whole, None), |(name, region)| (name, Some(region)));
        Some(Function {
            name: of_fortran(name).unwrap_or_else(|| name.to_owned()),
            region: region.map(str::to_owned),
        })
    }
}

/// A function of the source.
struct Function {
    name: String,
    /// The number that gcc has given to a parallel region in it.
    region: Option<String>,
}

/// The name of a module's procedure or variable, which gfortran calls `__MODULE_MOD_NAME`.
pub(crate) fn of_fortran(name: &str) -> Option<String> {
    let (module, name) = name.strip_prefix("__")?.split_once("_MOD_")?;
    Some(format!("{module}::{name}"))
}

/// The file's name without its folders.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_exactly_as_can_be() {
        let code = |function: Option<&str>, line: Option<(&str, u32)>| Code {
            function: function.map(str::to_owned),
            line: line.map(|(file, line)| (file.to_owned(), line)),
            file: "/usr/lib/libm.so.6".to_owned(),
        };
        assert_eq!(code(Some("main._omp_fn.0"), Some(("/home/me/heat.c", 7))).place(), "heat.c:7");
        assert_eq!(code(Some("main._omp_fn.0"), None).place(), "main (parallel 0)");
        assert_eq!(code(Some("sum"), None).place(), "sum");
        assert_eq!(code(None, None).place(), "libm.so.6");
        assert_eq!(Code::default().place(), "unknown");
        assert_eq!(code(Some("__store_MOD_step._omp_fn.12"), None).place(), "store::step (parallel 12)");
    }
}
