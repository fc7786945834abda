//! Files that metrics replace, time and again.

use std::{fs::File, io::Read, path::Path};

/// How the metrics of Tasuki begin: what the first of them means, or of which kind it is.
const BEGINNINGS: [&[u8]; 2] = [b"# HELP tasuki_", b"# TYPE tasuki_"];

/// Refuses to replace a file that has something else than metrics.
///
/// # Errors
/// What is to be said.
pub fn check_output(path: &Path) -> Result<(), String> {
    if !path.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(64).read_to_end(&mut start))
        .map_err(|error| format!("cannot read {}, which is there already: {error}", path.display()))?;
    match start.is_empty() || BEGINNINGS.iter().any(|words| start.starts_with(words)) {
        true => Ok(()),
        false => Err(format!(
            "{} is there already, and has no metrics of Tasuki; it stays as it is",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_metrics_are_replaced() {
        let path = std::env::temp_dir().join(format!("tasuki-metrics-{}.prom", std::process::id()));
        let check = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            check_output(&path)
        };
        let refused = check("[[host]]\nname = \"n1\"\n").unwrap_err();
        assert!(refused.contains("is there already"), "{refused}");
        assert!(check("# HELP node_load1 of another exporter\n").is_err());
        let own = crate::openmetrics(vec![("n1".into(), Err("it is off".into()))], Vec::new(), None);
        assert_eq!(check(&own.expect("a text")), Ok(()), "a timer repeats it");
        assert_eq!(check(""), Ok(()));
        std::fs::remove_file(&path).expect("removes");
        assert_eq!(check_output(&path), Ok(()));
        assert_eq!(check_output(Path::new("/dev/null")), Ok(()));
    }
}
