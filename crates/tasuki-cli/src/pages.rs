//! Manual pages and completions, made from the command line's own description.

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use std::{fs, path::Path, process::ExitCode};
use tasuki_args::Tasuki;
use tasuki_terminal::Failure;

/// Writes `man/*.1` and `completions/` with a file for each of bash, zsh and fish.
pub fn write(folder: &Path) -> Result<ExitCode, Failure> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let mut command = Tasuki::command();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command, "tasuki", &completions)?;
    }
    command.build();
    man_pages(&command, "tasuki", &man)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for a command and one for each of its subcommands, as tasuki-lab-up(1).
fn man_pages(command: &Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).manual("Tasuki").render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        man_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for page in ["tasuki", "tasuki-run", "tasuki-lab-up", "tasuki-broker", "tasuki-topo-route"] {
            let text = fs::read_to_string(folder.path().join(format!("man/{page}.1"))).unwrap();
            assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
        }
        assert!(!folder.path().join("man/tasuki-doctor-facts.1").exists(), "a page of an internal command");
        for file in ["tasuki.bash", "_tasuki", "tasuki.fish"] {
            let text = fs::read_to_string(folder.path().join("completions").join(file)).unwrap();
            assert!(text.contains("broker"), "{file}");
        }
    }
}
