//! Records of gdb's machine interface (GDB manual, "GDB/MI Output Syntax"), as JSON values.
//!
//! A tuple is an object, a list an array. A list of results, such as `[frame={..},frame={..}]`, is an array
//! of their values: the names say nothing there.

use serde_json::{Map, Value};

/// A line of gdb's output, as far as it says something to us.
#[derive(Debug, PartialEq, Eq)]
pub enum Record {
    /// The answer to a command.
    Answer(Answer),
    /// The process has stopped or begun to run (`stopped`, `running`), or something about it has changed
    /// (`thread-group-exited` and the like), and what belongs to it.
    Change(String, Map<String, Value>),
    /// Words for people: what commands print, and what gdb logs.
    Text(String),
}

/// The answer to one command.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number that stood before the command.
    pub token: u32,
    /// `done`, `error` and others.
    pub class: String,
    /// What belongs to it.
    pub results: Map<String, Value>,
}

/// The answers among all that gdb has printed. Lines of other kinds, and those that are no records, are
/// passed over.
pub fn answers(text: &str) -> Vec<Answer> {
    text.lines().filter_map(answer).collect()
}

fn answer(line: &str) -> Option<Answer> {
    match record(line)? {
        Record::Answer(answer) => Some(answer),
        _ => None,
    }
}

/// What a line says; `None`: nothing, or it is no record.
pub fn record(line: &str) -> Option<Record> {
    let kind_at = line.find(|c: char| !c.is_ascii_digit())?;
    let (token, rest) = line.split_at(kind_at);
    match rest.as_bytes()[0] {
        b'^' => {
            let (class, results) = class_and_results(&rest[1..])?;
            Some(Record::Answer(Answer { token: token.parse().ok()?, class, results }))
        }
        b'*' | b'=' => class_and_results(&rest[1..]).map(|(class, results)| Record::Change(class, results)),
        b'~' | b'&' => Reader { text: rest.as_bytes(), at: 1 }.string().map(Record::Text),
        _ => None,
    }
}

fn class_and_results(rest: &str) -> Option<(String, Map<String, Value>)> {
    let class_ends = rest.find(',').unwrap_or(rest.len());
    let mut reader = Reader { text: rest.as_bytes(), at: class_ends };
    let mut results = Map::new();
    while reader.takes(b',') {
        let (name, value) = reader.result()?;
        results.insert(name, value);
    }
    Some((rest[..class_ends].into(), results))
}

/// How deep tuples and lists may stand in each other. Answers about frames have 5.
const DEPTH_MAX: usize = 64;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_it = self.next() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    /// `name=value`.
    fn result(&mut self) -> Option<(String, Value)> {
        self.named(0)
    }

    fn named(&mut self, depth: usize) -> Option<(String, Value)> {
        let from = self.at;
        while self.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            self.at += 1;
        }
        let name = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        if name.is_empty() || !self.takes(b'=') {
            return None;
        }
        Some((name, self.value(depth)?))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.next()? {
            b'"' => self.string().map(Value::String),
            b'{' => {
                let mut all = Map::new();
                self.listed(b'}', |reader| {
                    let (name, value) = reader.named(depth + 1)?;
                    all.insert(name, value);
                    Some(())
                })?;
                Some(Value::Object(all))
            }
            b'[' => {
                let mut all = Vec::new();
                self.listed(b']', |reader| {
                    let is_value = reader.next().is_some_and(|byte| b"\"{[".contains(&byte));
                    let value = match is_value {
                        true => reader.value(depth + 1)?,
                        false => reader.named(depth + 1)?.1,
                    };
                    all.push(value);
                    Some(())
                })?;
                Some(Value::Array(all))
            }
            _ => None,
        }
    }

    /// Items with commas between them, from an opening bracket to the closing one.
    fn listed(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.takes(close) {
            return Some(());
        }
        loop {
            item(self)?;
            if self.takes(close) {
                return Some(());
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    /// A string with C's escapes: gdb writes bytes that are not ASCII in octal.
    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b'"' => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => bytes.push(self.escaped()?),
                other => bytes.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<u8> {
        let byte = self.next()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'e' => 0x1b,
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.next() else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                u8::try_from(code).ok()?
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What gdb 13.1 has printed, shortened.
    #[test]
    fn answers_of_a_real_gdb_are_read() {
        let text = "=thread-group-added,id=\"i1\"\n~\"[New LWP 2869]\\n\"\n(gdb) \n1^done\n\
            2^done,stack=[frame={level=\"0\",addr=\"0x0\",func=\"f\",args=[]},frame={level=\"1\"}]\n\
            3^error,msg=\"ptrace: No such process.\"\n4^done,threads=[],names=[\"a\",\"b\"]\n";
        let found = answers(text);
        assert_eq!(found.iter().map(|answer| answer.token).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let stack = json!([{"level": "0", "addr": "0x0", "func": "f", "args": []}, {"level": "1"}]);
        assert_eq!(found[1].results["stack"], stack);
        assert_eq!(found[2].class, "error");
        assert_eq!(found[3].results["names"], json!(["a", "b"]));
    }

    #[test]
    fn words_and_changes_are_told_apart() {
        let text = |text: &str| Some(Record::Text(text.into()));
        assert_eq!(record(r##"~"#0  f (x=1)\n""##), text("#0  f (x=1)\n"));
        assert_eq!(record(r#"&"bt\n""#), text("bt\n"));
        let stopped = r#"*stopped,reason="exited",exit-code="01""#;
        let Some(Record::Change(class, results)) = record(stopped) else { panic!("{stopped}") };
        assert_eq!((class.as_str(), &results["exit-code"]), ("stopped", &json!("01")));
        for other in ["(gdb) ", "", "12", "begun", r#"@"x""#, "~", "~x", "^done"] {
            assert_eq!(record(other), None, "{other}");
        }
    }

    #[test]
    fn strings_have_the_escapes_of_c() {
        let value = |text: &str| answers(text).pop().map(|answer| answer.results["a"].clone());
        assert_eq!(value(r#"1^done,a="x \"y\" \\ \t\303\251""#), Some(json!("x \"y\" \\ \té")));
    }

    /// The grammar has no such lines; a program's name or a library of the process may have made gdb stumble.
    #[test]
    fn broken_lines_are_passed_over() {
        let deep = format!("1^done,a={}", "[".repeat(100_000));
        for text in [
            "^done",
            "x^done",
            "1^done,a",
            "1^done,a=",
            "1^done,a=\"",
            "1^done,a={b",
            "1^done,a=[\"x\"",
            &deep,
        ] {
            assert_eq!(answers(text), [], "{text:.40}");
        }
    }
}
