//! Prints results and writes them into a folder.

use crate::{args::Results, failure::Failure, output::visible_json};
use std::{fs, path::Path};

/// Prints what was measured, as a table or as JSON, and writes both, with plots, into the folder that was
/// asked for.
pub fn give(
    asked: &Results,
    stem: &str,
    table: &str,
    json: &str,
    plots: impl FnOnce() -> Result<Vec<(String, String)>, Failure>,
) -> Result<(), Failure> {
    if let Some(folder) = &asked.output {
        let mut files =
            vec![(format!("{stem}.txt"), table.to_owned()), (format!("{stem}.json"), json.to_owned())];
        files.extend(plots()?);
        write_all(folder, &files)?;
    }
    match asked.json {
        true => println!("{}", visible_json(json.trim_end())),
        false => print!("{table}"),
    }
    Ok(())
}

/// Writes files, given by names and texts, into a folder, which is made if it does not exist.
pub fn write_all(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    eprintln!("results are in {}", folder.display());
    Ok(())
}
