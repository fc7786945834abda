//! Names from the program's file and those of its libraries: symbols, and lines where it was built with `-g`.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};

use crate::names::{Code, Data, Names, of_fortran};

/// A file that the loader has mapped.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The file.
    pub path: PathBuf,
    /// What is added to its addresses.
    pub bias: u64,
    /// Where its code lies.
    pub code: Vec<Range<u64>>,
    /// It runs the program's regions: its code is where the program called it.
    pub is_runtime: bool,
}

/// The program and its libraries.
pub struct Program {
    files: Vec<(Mapped, Option<Loader>)>,
    /// By address.
    variables: Vec<Data>,
}

impl Program {
    /// Reads what it can; the first file is the program. Files that cannot be read have no names.
    pub fn load(files: Vec<Mapped>) -> Program {
        let variables = files.first().map(variables).unwrap_or_default();
        let files = files.into_iter().map(|file| {
            let loader = Loader::new(&file.path).ok();
            (file, loader)
        });
        Program { files: files.collect(), variables }
    }

    /// Whether the program was built with lines, as `gcc -g` does.
    pub fn has_lines(&self) -> bool {
        let Some((file, Some(loader))) = self.files.first() else { return false };
        file.code.iter().any(|range| {
            let (from, to) = (range.start.wrapping_sub(file.bias), range.end.wrapping_sub(file.bias));
            loader.find_location_range(from, to).is_ok_and(|mut found| found.next().is_some())
        })
    }
}

impl Names for Program {
    fn code(&self, address: u64) -> Code {
        let found =
            self.files.iter().find(|(file, _)| file.code.iter().any(|range| range.contains(&address)));
        let Some((file, loader)) = found.filter(|(file, _)| !file.is_runtime) else { return Code::default() };
        let path = file.path.display().to_string();
        let Some(loader) = loader else { return Code { file: path, ..Code::default() } };
        let probe = address.wrapping_sub(file.bias);
        let location = loader.find_location(probe).ok().flatten();
        let line = location.and_then(|at| Some((at.file?.to_owned(), at.line.filter(|&line| line > 0)?)));
        let function = loader.find_symbol(probe).map(readable);
        Code { function, line, file: path }
    }

    fn data(&self, address: u64) -> Option<Data> {
        let after = self.variables.partition_point(|data| data.range.start <= address);
        self.variables[..after].last().filter(|data| data.range.contains(&address)).cloned()
    }
}

/// A name of C++, Rust or Fortran as its source has it.
fn readable(name: &str) -> String {
    of_fortran(name).unwrap_or_else(|| addr2line::demangle_auto(name.into(), None).into_owned())
}

/// Whether a variable is one that gcc adds to every program.
fn is_of_compiler(name: &str) -> bool {
    name == "__dso_handle" || name == "__TMC_END__" || name.starts_with("completed.")
}

/// The program's variables by address.
fn variables(file: &Mapped) -> Vec<Data> {
    let Ok(bytes) = fs::read(&file.path) else { return Vec::new() };
    let Ok(object) = object::File::parse(&*bytes) else { return Vec::new() };
    let mut found: Vec<Data> = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0 && symbol.is_definition())
        .filter_map(|symbol| {
            let start = symbol.address().wrapping_add(file.bias);
            let name = symbol.name().ok().filter(|name| !is_of_compiler(name))?;
            let name = readable(name);
            Some(Data { name, range: start..start.wrapping_add(symbol.size()) })
        })
        .collect();
    found.sort_by_key(|data| data.range.start);
    found.dedup_by_key(|data| data.range.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Names of a program that gcc has built, against those that it was written with.
    #[test]
    fn variables_functions_and_lines_are_those_of_the_source() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("names.c");
        let variables = "static double grid[512];\nint counter = 1;\n";
        let text = "int sum(int a)\n{\n    return a + counter;\n}\n";
        let main = "int main(void) { return sum(0) + (int)grid[1]; }\n";
        fs::write(&source, [variables, text, main].concat()).expect("written");
        let path = folder.path().join("names");
        let mut gcc = Command::new("gcc");
        let status = gcc.args(["-g", "-O0", "-no-pie"]).arg(&source).arg("-o").arg(&path).status();
        assert!(status.expect("gcc runs").success());
        let bytes = fs::read(&path).expect("read");
        let object = object::File::parse(&*bytes).expect("an ELF file");
        let at = |name: &str| object.symbol_by_name(name).expect("a symbol").address();
        let bias = 0x10_0000;
        let ranges = |bytes: u64| std::iter::once(bias..bias + bytes).collect();
        let mapped = Mapped { path: path.clone(), bias, code: ranges(0x100_0000), is_runtime: false };
        let program = Program::load(vec![mapped]);
        let data = program.data(at("grid") + bias + 4095).expect("a variable");
        assert_eq!((data.name.as_str(), data.range), ("grid", at("grid") + bias..at("grid") + bias + 4096));
        assert_eq!(program.data(at("counter") + bias + 3).expect("a variable").name, "counter");
        assert_eq!(program.data(at("sum") + bias), None);
        let code = program.code(at("sum") + bias);
        assert_eq!((code.place().as_str(), code.function.as_deref()), ("names.c:4", Some("sum")));
        assert_eq!(program.code(7), Code::default());
        // A file that is not there has no names, and is no error.
        let missing = Mapped { path: folder.path().join("none"), bias, code: ranges(9), is_runtime: false };
        assert!(Program::load(vec![missing]).code(bias).place().starts_with("none"));
    }
}
