//! Prints results and writes them into a folder.

use super::{Overwrite, Results};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};
use tasuki_terminal::{Failure, visible_json};

/// Prints what was measured, as a table or as JSON, and writes both, with plots, into the folder that was
/// asked for. It is written first, because what it is printed to may have no reader; and it is printed also
/// if it cannot be written.
pub fn give(
    asked: &Results,
    stem: &str,
    table: &str,
    json: &str,
    plots: impl FnOnce() -> Result<Vec<(String, String)>, Failure>,
) -> Result<(), Failure> {
    let write = |folder| {
        let mut files =
            vec![(format!("{stem}.txt"), table.to_owned()), (format!("{stem}.json"), json.to_owned())];
        files.extend(plots()?);
        write_all(folder, &files, &asked.overwrite)
    };
    let written = asked.output.as_deref().map_or(Ok(()), write);
    match asked.json {
        true => println!("{}", visible_json(json.trim_end())),
        false => print!("{table}"),
    }
    written
}

/// Writes files, given by names and texts, into a folder, which is made if it does not exist. A file that has
/// come there since the command began, or whose name was not known then, stays: the new one has another
/// name.
pub fn write_all(folder: &Path, files: &[(String, String)], over: &Overwrite) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    for (name, text) in files {
        let path = folder.join(name);
        let written = write(&path, text, over)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
        if written != path {
            let (path, written) = (path.display(), written.display());
            eprintln!("tasuki: {path} is another file and stays; the new one is {written}");
        }
    }
    eprintln!("results are in {}", folder.display());
    Ok(())
}

/// Writes a file, or another one beside it if it is there and may not be written over. Returns which.
fn write(path: &Path, text: &str, over: &Overwrite) -> io::Result<PathBuf> {
    if over.force {
        return fs::write(path, text).map(|()| path.to_owned());
    }
    let [stem, kind] = [path.file_stem(), path.extension()].map(|part| part.unwrap_or_default());
    let [stem, kind] = [stem, kind].map(|part| part.to_string_lossy());
    let mut at = path.to_owned();
    let mut number = 1_u32;
    loop {
        match File::create_new(&at) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| at),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {
                number += 1;
                at = path.with_file_name(format!("{stem}-{number}.{kind}"));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays_unless_force_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let files = |text: &str| vec![("pingpong.svg".to_owned(), text.to_owned())];
        let [careful, force] = [false, true].map(|force| Overwrite { force });
        for text in ["first", "second", "third"] {
            write_all(folder.path(), &files(text), &careful).unwrap();
        }
        let all = ["pingpong.svg", "pingpong-2.svg", "pingpong-3.svg"].map(read);
        assert_eq!(all, ["first", "second", "third"]);
        write_all(folder.path(), &files("fourth"), &force).unwrap();
        assert_eq!(["pingpong.svg", "pingpong-2.svg"].map(read), ["fourth", "second"]);
    }
}
