//! E-mail by the host's mailer: `sendmail`, or else `mail`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tasuki_process::{Limited, Output, program_in, text_file};

/// Time that a mailer may take: it has only to take the message.
const LIMIT: Duration = Duration::from_secs(30);
/// Where systems have sendmail, which users do not have in their PATH (Filesystem Hierarchy Standard 3.0).
const USUAL: [&str; 3] = ["/usr/sbin", "/usr/lib", "/usr/bin"];

/// The first program of this name in the user's PATH, or where systems have it.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    program_in(folders.chain(USUAL.iter().map(PathBuf::from)), name)
}

/// Runs a program with this text as its standard input, to whatever end.
pub fn run_to_end(program: &Path, words: &[&str], input: &str) -> Result<Output, String> {
    let fail = |error: std::io::Error| format!("cannot run {}: {error}", program.display());
    let input = text_file(input).map_err(fail)?;
    Limited::new(LIMIT).input(input).run(Command::new(program).args(words)).map_err(fail)
}

/// Runs a program with this text as its standard input; it must succeed.
fn run(program: &Path, words: &[&str], input: &str) -> Result<Output, String> {
    let output = run_to_end(program, words, input)?;
    match output.is_success() {
        true => Ok(output),
        false => {
            let said = output.stderr_tail(3).replace('\n', "; ");
            Err(format!("{}: {}: {said}", program.display(), output.reason()))
        }
    }
}

/// Gives a message to the host's mailer.
///
/// # Errors
/// In words: there is none, or it did not take the message.
pub fn send(address: &str, subject: &str, text: &str) -> Result<(), String> {
    if let Some(sendmail) = program("sendmail") {
        let head = format!("To: {address}\nSubject: {subject}\nAuto-Submitted: auto-generated\n");
        let kind = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n";
        return run(&sendmail, &["-i", "--", address], &format!("{head}{kind}\n{text}")).map(drop);
    }
    match program("mail") {
        Some(mail) => run(&mail, &["-s", subject, address], text).map(drop),
        None => Err("there is neither sendmail nor mail on the host that keeps the queue".into()),
    }
}
