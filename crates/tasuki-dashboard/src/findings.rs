//! What `tasuki check` has found, from the file that it was printed to.

use crate::problems::Problem;
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tasuki_check::Report;

/// Longest report, bytes: one of a thousand hosts is shorter.
const BYTES_MAX: u64 = 16 << 20;
/// So long a file that holds no report is held to be one that is being written: a shell empties it when
/// `tasuki check` begins, which prints when it ends.
const WRITING: Duration = Duration::from_secs(600);

/// The findings of a file, which is read anew when it changes.
#[derive(Debug)]
pub(crate) struct Findings {
    path: PathBuf,
    /// When the file was changed that was read last.
    changed: Option<SystemTime>,
    problems: Vec<Problem>,
}

impl Findings {
    /// Of the file that the output of `tasuki check --json` is or will be in.
    pub fn of(path: &Path) -> Self {
        Self { path: path.into(), changed: None, problems: Vec::new() }
    }

    /// The findings as problems, with how long ago they were found.
    pub fn now(&mut self) -> Vec<Problem> {
        let wrong = |why: &str| {
            let says = format!("{} {why}", self.path.display());
            vec![Problem::doubtful("", says, "write it with tasuki check --json > FILE")]
        };
        let changed = match fs::metadata(&self.path).and_then(|data| Ok((data.is_file(), data.modified()?))) {
            Ok((true, changed)) => changed,
            // A named pipe would be waited for when it is opened.
            Ok((false, _)) => return wrong("is no file"),
            Err(error) => return wrong(&format!("cannot be read: {error}")),
        };
        if self.changed != Some(changed) {
            match read(&self.path) {
                Ok(problems) => (self.problems, self.changed) = (problems, Some(changed)),
                // It is read again, and what was found before counts.
                Err(_) if changed.elapsed().unwrap_or_default() < WRITING => {}
                Err(why) => return wrong(&why),
            }
        }
        let age = self.changed.and_then(|changed| changed.elapsed().ok()).unwrap_or_default();
        let minutes = age.as_secs() / 60;
        let age = match minutes {
            0..=119 => format!("{minutes} min"),
            _ => format!("{} h", minutes / 60),
        };
        let aged = |problem: &Problem| Problem {
            advice: format!("tasuki check, {age} ago: {}", problem.advice),
            ..problem.clone()
        };
        self.problems.iter().map(aged).collect()
    }
}

fn read(path: &Path) -> Result<Vec<Problem>, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let mut text = String::new();
    File::open(path).map_err(failed)?.take(BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let report: Report = serde_json::from_str(&text)
        .map_err(|error| format!("is not what tasuki check --json prints: {error}"))?;
    let problem = |finding: tasuki_check::Finding| {
        let (part, says) = (finding.part.name(), finding.says);
        if finding.warning {
            Problem::doubtful(part, says, &finding.advice)
        } else {
            Problem::bad(part, says, &finding.advice)
        }
    };
    Ok(report.findings.into_iter().map(problem).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_check::{Finding, Kind, Part};

    #[test]
    fn findings_are_read_anew_when_the_file_changes_and_a_wrong_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("check.json");
        let mut findings = Findings::of(&path);
        let said =
            |findings: &mut Findings| findings.now().into_iter().map(|one| one.says).collect::<Vec<_>>();
        let missing = said(&mut findings);
        assert!(missing.len() == 1 && missing[0].contains("check.json cannot be read"), "{missing:?}");
        let cable = Part::Cable("n1:eth1 - n2:eth1".into());
        let found = Finding::new(1, Kind::Dead, cable, "No frames pass.", "Replace it.");
        let report = Report { findings: vec![found], ..Report::default() };
        fs::write(&path, serde_json::to_string(&report).expect("JSON")).expect("writes");
        assert_eq!(said(&mut findings), ["No frames pass."]);
        assert_eq!(findings.now()[0].part, "n1:eth1 - n2:eth1");
        assert!(findings.now()[0].advice.contains("min ago: Replace it."));
        for text in ["", "{", "[1, 2]", "\u{0}", "{\"findings\": 7}"] {
            fs::write(&path, text).expect("writes");
            let file = File::options().write(true).open(&path).expect("opens");
            // A check that has just begun has emptied it, and writes it when it ends.
            assert_eq!(said(&mut findings), ["No frames pass."], "{text}");
            let long_ago = SystemTime::now() - 2 * WRITING;
            file.set_modified(long_ago).expect("its time");
            let wrong = said(&mut findings);
            assert!(wrong.len() == 1 && wrong[0].contains("is not what"), "{text}: {wrong:?}");
        }
    }
}
