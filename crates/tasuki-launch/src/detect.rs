//! Finds the MPI that a program uses.

use crate::{
    Device, Environment, Flavour, Mpi,
    elf::{self, Kind},
    installed::{is_called, is_place, list, same_file},
    launcher,
    loader::{self, Needed},
    mpi::abi_of,
    probe, program, python,
};
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// How deep scripts may be nested that run each other; the kernel gives up after four as well.
const SCRIPT_DEPTH_MAX: usize = 4;

/// Why it is not known which MPI a program uses, and what to do about it.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DetectError {
    #[error("no program was given")]
    NoProgram,
    #[error("there is no program {}: looked {looked}", name.display())]
    NotFound { name: OsString, looked: String },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is neither a program nor a script with a #! line", .0.display())]
    NotRunnable(PathBuf),
    #[error("{} is linked statically, so its MPI cannot be told: name it with --mpi NAME", .0.display())]
    Static(PathBuf),
    #[error(
        "{} is a script for {interpreter}, which can run any program: start the MPI program itself, or name \
         its MPI with --mpi NAME", path.display())]
    Script { path: PathBuf, interpreter: String },
    #[error("{} uses no MPI: {why}", program.display())]
    NotMpi { program: PathBuf, why: String },
    #[error("the dynamic loader cannot be asked about {}: {source}", program.display())]
    Loader { program: PathBuf, source: io::Error },
    #[error(
        "{} needs {name}, which the dynamic loader does not find. Set LD_LIBRARY_PATH, or name an MPI with \
         --mpi NAME; installed and fit for it: {installed}", program.display())]
    LibraryMissing { program: PathBuf, name: String, installed: String },
    #[error("{} loads more than one MPI library: {libraries}. Link it with one", program.display())]
    SeveralLibraries { program: PathBuf, libraries: String },
    #[error("{} does not say which MPI it is: {why}", library.display())]
    Probe { library: PathBuf, why: String },
    #[error("{} is an MPI that Tasuki cannot launch (Open MPI 4 and 5, MPICH and Intel MPI it can): \
             {text:?}", library.display())]
    Unsupported { library: PathBuf, text: String },
    #[error(
        "{} is {flavour} {version}, but its launcher ({}) is nowhere in {looked}. It comes with {}",
        library.display(), flavour.launchers().join(" or "), flavour.package())]
    LauncherMissing { library: PathBuf, flavour: Flavour, version: String, looked: String },
    #[error("--mpi {choice}: no MPI's launcher with its library belongs to {}", folder.display())]
    NoMpiAt { choice: String, folder: PathBuf },
    #[error("--mpi {choice}: no such MPI is installed; there are: {installed}")]
    UnknownChoice { choice: String, installed: String },
    #[error("--mpi {choice} fits several: {found}. Give more of the version, or the prefix")]
    SeveralChoices { choice: String, found: String },
    #[error(
        "{} asks for {needed}, which {mpi} does not provide: it was built for another family of MPIs",
        program.display()
    )]
    OtherAbi { program: PathBuf, needed: String, mpi: String },
    #[error(
        "{} cannot be moved to {mpi}: with LD_LIBRARY_PATH={} it still loads {now}. A run path (DT_RPATH) in \
         it goes first: build it without one, or with that MPI", program.display(), folder.display())]
    Pinned { program: PathBuf, mpi: String, folder: PathBuf, now: String },
}

/// What is needed to find a program's MPI.
#[derive(Clone, Copy, Debug)]
pub struct Detector<'a> {
    /// The environment in which the program will run: PATH and LD_LIBRARY_PATH matter.
    pub env: &'a Environment,
    /// A command that calls [`crate::probe_main`] with the path that is appended to it.
    pub probe: &'a [OsString],
    /// A folder with one MPI's prefix per entry, which is searched besides PATH.
    pub peers: Option<&'a Path>,
    /// The MPI that the user wants: a name (see [`Detector::choose`]) or a path; `None`: the one that the
    /// program is linked with.
    pub choice: Option<&'a str>,
}

/// A program and its MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The MPI to run it with.
    pub mpi: Mpi,
    /// The command with its program's absolute path.
    pub argv: Vec<OsString>,
    /// Variables without which ranks on other hosts would not find that MPI's library.
    pub env: Environment,
}

/// What a program was found to be.
enum Found {
    /// The program is linked with MPI libraries.
    Linked { program: PathBuf, loader: PathBuf, needed: Vec<Needed> },
    /// The program is a Python whose mpi4py has loaded a library and printed this version text.
    Python { program: PathBuf, library: PathBuf, text: String },
    /// The program does not show which MPI it uses, for this reason.
    Opaque(DetectError),
}

impl Detector<'_> {
    /// Finds the MPI of the program `argv[0]`; or, where that is a wrapper (`env`, `numactl`, `valgrind`,
    /// ...), of the first argument that is an MPI program.
    pub fn detect(&self, argv: &[OsString]) -> Result<Detected, DetectError> {
        let first = argv.first().ok_or(DetectError::NoProgram)?;
        let path = self.find(first)?;
        let found = self.look_through(&path, &argv[1..]);
        let (mpi, env) = match self.choice {
            None => self.own(found)?,
            Some(choice) => self.chosen(found, choice)?,
        };
        let mut argv = argv.to_vec();
        argv[0] = path.into_os_string();
        Ok(Detected { mpi, argv, env })
    }

    fn find(&self, name: &OsStr) -> Result<PathBuf, DetectError> {
        program::find(name, self.env).ok_or_else(|| {
            let folders = program::path_folders(self.env);
            let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let looked = match name.to_string_lossy().contains('/') {
                true => "there (it must be an executable file)".into(),
                false => format!("for an executable file in {}", folders.join(", ")),
            };
            DetectError::NotFound { name: name.to_owned(), looked }
        })
    }

    fn look_through(&self, path: &Path, arguments: &[OsString]) -> Found {
        let first = self.inspect(path, SCRIPT_DEPTH_MAX);
        if !matches!(first, Found::Opaque(DetectError::NotMpi { .. })) || python::is_python(path) {
            return first;
        }
        let wrapped = arguments.iter().filter_map(|word| program::find(word, self.env));
        let mut wrapped = wrapped.map(|path| self.inspect(&path, SCRIPT_DEPTH_MAX));
        wrapped.find(|found| !matches!(found, Found::Opaque(_))).unwrap_or(first)
    }

    fn inspect(&self, path: &Path, depth: usize) -> Found {
        match elf::kind(path) {
            Err(source) => Found::Opaque(DetectError::Unreadable { path: path.into(), source }),
            Ok(Kind::Other) => Found::Opaque(DetectError::NotRunnable(path.into())),
            Ok(Kind::Static) => Found::Opaque(DetectError::Static(path.into())),
            // The `python3` of a version manager is a script that runs the real one.
            Ok(Kind::Dynamic { .. } | Kind::Script { .. }) if python::is_python(path) => {
                self.inspect_python(path)
            }
            Ok(Kind::Dynamic { loader }) => self.inspect_linked(path, loader),
            Ok(Kind::Script { interpreter, argument }) => {
                self.inspect_script(path, interpreter, argument, depth)
            }
        }
    }

    fn inspect_script(
        &self,
        path: &Path,
        interpreter: PathBuf,
        argument: Option<String>,
        depth: usize,
    ) -> Found {
        let is_env = interpreter.file_name() == Some(OsStr::new("env"));
        let target = argument.as_deref().filter(|_| is_env).and_then(program::env_target);
        let interpreter = match target {
            Some(name) => program::find(OsStr::new(name), self.env).unwrap_or_else(|| name.into()),
            None => interpreter,
        };
        let opaque = || {
            let interpreter = interpreter.display().to_string();
            Found::Opaque(DetectError::Script { path: path.into(), interpreter })
        };
        if depth == 0 || !interpreter.is_absolute() {
            return opaque();
        }
        match self.inspect(&interpreter, depth - 1) {
            Found::Opaque(DetectError::NotMpi { .. } | DetectError::Static(_))
                if !python::is_python(&interpreter) =>
            {
                opaque()
            }
            found => found,
        }
    }

    fn inspect_linked(&self, path: &Path, loader: PathBuf) -> Found {
        match loader::mpi_libraries(&loader, path, self.env) {
            Err(source) => Found::Opaque(DetectError::Loader { program: path.into(), source }),
            Ok(needed) if needed.is_empty() => {
                let why = "it is linked with no MPI library (libmpi, libmpich)".into();
                Found::Opaque(DetectError::NotMpi { program: path.into(), why })
            }
            Ok(needed) => Found::Linked { program: path.into(), loader, needed },
        }
    }

    fn inspect_python(&self, path: &Path) -> Found {
        let not_mpi = |why: String| Found::Opaque(DetectError::NotMpi { program: path.into(), why });
        match python::ask(path, self.env) {
            Err(why) => not_mpi(format!("its mpi4py cannot be used: {why}")),
            Ok((libraries, text)) => {
                let is_mpi = |library: &PathBuf| library.file_name().and_then(abi_of).is_some();
                match libraries.into_iter().find(is_mpi) {
                    Some(library) => Found::Python { program: path.into(), library, text },
                    None => not_mpi("mpi4py loaded no library that is called libmpi or libmpich".into()),
                }
            }
        }
    }

    /// The MPI that the program uses by itself.
    fn own(&self, found: Found) -> Result<(Mpi, Environment), DetectError> {
        match found {
            Found::Opaque(error) => Err(error),
            Found::Python { library, text, .. } => Ok((self.with_launcher(library, &text)?, self.own_path())),
            Found::Linked { program, loader, needed } => match single_library(&program, &needed)? {
                Some(library) => Ok((self.at(library)?, self.own_path())),
                None => self.unresolved(program, loader, needed),
            },
        }
    }

    /// The variables that ranks need to find on other hosts what the loader finds here.
    fn own_path(&self) -> Environment {
        let path = program::variable(self.env, "LD_LIBRARY_PATH").filter(|path| !path.is_empty());
        path.map(|path| vec![("LD_LIBRARY_PATH".into(), path.to_owned())]).unwrap_or_default()
    }

    /// The MPI that the program uses by itself, if `choice` means it.
    fn own_called(&self, found: &Found, choice: &str) -> Option<Mpi> {
        let Found::Linked { program, needed, .. } = found else { return None };
        if is_place(choice) {
            return None;
        }
        let mpi = self.at(single_library(program, needed).ok()??).ok()?;
        is_called(&mpi, choice).then_some(mpi)
    }

    /// Resolves a library that the loader does not find: if exactly one installed MPI provides it, that one
    /// is meant.
    fn unresolved(
        &self,
        program: PathBuf,
        loader: PathBuf,
        needed: Vec<Needed>,
    ) -> Result<(Mpi, Environment), DetectError> {
        let abi = needed[0].abi;
        let fitting: Vec<_> = self.installed().into_iter().filter(|mpi| mpi.provides(abi)).collect();
        match <[Mpi; 1]>::try_from(fitting) {
            Ok([mpi]) => self.moved(Found::Linked { program, loader, needed }, mpi),
            Err(fitting) => {
                let name = needed[0].name.clone();
                Err(DetectError::LibraryMissing { program, name, installed: list(&fitting) })
            }
        }
    }

    /// The MPI that a library belongs to.
    fn at(&self, library: &Path) -> Result<Mpi, DetectError> {
        let text = probe::version_text(self.probe, library, self.env);
        let text =
            text.map_err(|why| DetectError::Probe { library: library.into(), why: why.to_string() })?;
        self.with_launcher(library.into(), &text)
    }

    fn with_launcher(&self, library: PathBuf, text: &str) -> Result<Mpi, DetectError> {
        let Some((flavour, version)) = Flavour::recognise(text) else {
            let text = text.lines().next().unwrap_or_default().to_owned();
            return Err(DetectError::Unsupported { library, text });
        };
        match launcher::for_library(&library, flavour, &version, self.env) {
            Ok(launcher) => Ok(Mpi { flavour, version, library, launcher, device: Device::parse(text) }),
            Err(looked) => {
                let looked: Vec<_> = looked.iter().map(|folder| folder.display().to_string()).collect();
                let (version, looked) = (version.to_string(), looked.join(", "));
                Err(DetectError::LauncherMissing { library, flavour, version, looked })
            }
        }
    }

    /// The MPI that the user has chosen.
    fn chosen(&self, found: Found, choice: &str) -> Result<(Mpi, Environment), DetectError> {
        // All installed MPIs are asked for their version only where that is needed, because it takes 0.05 s
        // each.
        if let Some(own) = self.own_called(&found, choice) {
            return Ok((own, self.own_path()));
        }
        let mut candidates = self.choose(choice)?;
        let needs = |mpi: &Mpi| match &found {
            Found::Linked { needed, .. } => needed.iter().all(|needed| mpi.provides(needed.abi)),
            _ => true,
        };
        match candidates.iter().any(needs) {
            true => candidates.retain(needs),
            // None fits, so the first one is taken for the error.
            false => candidates.truncate(1),
        }
        if candidates.len() > 1 {
            let is_own =
                |mpi: &Mpi| own_libraries(&found).iter().any(|library| same_file(library, &mpi.library));
            if let Some(own) = candidates.iter().find(|mpi| is_own(mpi)) {
                candidates = vec![own.clone()];
            }
        }
        match <[Mpi; 1]>::try_from(candidates) {
            Ok([mpi]) => self.moved(found, mpi),
            Err(several) => Err(DetectError::SeveralChoices { choice: choice.into(), found: list(&several) }),
        }
    }

    /// Makes the program run on `mpi` by LD_LIBRARY_PATH, and asks the loader whether that is enough.
    fn moved(&self, found: Found, mpi: Mpi) -> Result<(Mpi, Environment), DetectError> {
        if own_libraries(&found).iter().any(|library| same_file(library, &mpi.library)) {
            return self.own(found);
        }
        let folder = mpi.library_folder().to_owned();
        let old = program::variable(self.env, "LD_LIBRARY_PATH").unwrap_or_default();
        let mut path = folder.clone().into_os_string();
        if !old.is_empty() {
            path.push(":");
            path.push(old);
        }
        let env = program::with_variable(self.env, "LD_LIBRARY_PATH", path.clone());
        let (program, now) = match &found {
            // A user who chooses an MPI for a program that does not show its own is trusted.
            Found::Opaque(
                DetectError::Static(_) | DetectError::Script { .. } | DetectError::NotMpi { .. },
            ) => {
                return Ok((mpi, vec![("LD_LIBRARY_PATH".into(), path)]));
            }
            Found::Opaque(_) => return self.own(found),
            Found::Python { program, .. } => {
                let answer = python::ask(program, &env);
                (program, answer.map(|(libraries, _)| libraries).unwrap_or_default())
            }
            Found::Linked { program, loader, needed } => {
                if let Some(other) = needed.iter().find(|needed| !mpi.provides(needed.abi)) {
                    let (program, needed) = (program.clone(), other.name.clone());
                    return Err(DetectError::OtherAbi { program, needed, mpi: mpi.to_string() });
                }
                let asked = loader::mpi_libraries(loader, program, &env);
                let asked =
                    asked.map_err(|source| DetectError::Loader { program: program.clone(), source })?;
                (program, asked.into_iter().filter_map(|needed| needed.path).collect())
            }
        };
        let is_there = |library: &PathBuf| same_file(library.parent().unwrap_or(library), &folder);
        if now.iter().any(is_there) {
            return Ok((mpi, vec![("LD_LIBRARY_PATH".into(), path)]));
        }
        let now = if now.is_empty() { "none".into() } else { join(&now) };
        Err(DetectError::Pinned { program: program.clone(), mpi: mpi.to_string(), folder, now })
    }
}

fn own_libraries(found: &Found) -> Vec<PathBuf> {
    match found {
        Found::Linked { needed, .. } => needed.iter().filter_map(|needed| needed.path.clone()).collect(),
        Found::Python { library, .. } => vec![library.clone()],
        Found::Opaque(_) => Vec::new(),
    }
}

/// The one MPI library that was found; `None` if none was.
fn single_library<'a>(program: &Path, needed: &'a [Needed]) -> Result<Option<&'a Path>, DetectError> {
    let mut libraries = needed.iter().filter_map(|needed| needed.path.as_deref());
    let Some(first) = libraries.next() else { return Ok(None) };
    if libraries.all(|other| same_file(first, other)) {
        return Ok(Some(first));
    }
    let libraries: Vec<_> = needed.iter().filter_map(|needed| needed.path.clone()).collect();
    Err(DetectError::SeveralLibraries { program: program.into(), libraries: join(&libraries) })
}

fn join(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
