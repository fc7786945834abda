//! A line that is typed at the prompt.

use tasuki_stacks::spans;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// For these ranks, or the ones that are chosen, the debugger's command.
    Command(Option<Vec<(u32, u32)>>, String),
    /// From now on, commands are for these ranks; `None`: for all.
    Choose(Option<Vec<(u32, u32)>>),
    /// Let these ranks go on without a debugger; `None`: those that are chosen.
    Detach(Option<Vec<(u32, u32)>>),
    /// Say what each rank does.
    States,
    /// Say what can be typed.
    Help,
    /// Let all ranks go on, and end.
    Quit,
    /// Nothing.
    Empty,
}

/// Commands whose further lines gdb would read, which a prompt for many cannot give it; and those that
/// replace the process.
const REFUSED: [(&str, &str); 17] = [
    ("commands", MORE),
    ("define", MORE),
    ("document", MORE),
    ("while", MORE),
    ("if", MORE),
    ("python-interactive", MORE),
    ("pi", MORE),
    ("edit", MORE),
    ("tui", SCREEN),
    ("layout", SCREEN),
    ("run", OTHER),
    ("r", OTHER),
    ("start", OTHER),
    ("starti", OTHER),
    ("attach", OTHER),
    ("target", OTHER),
    ("interpreter-exec", OTHER),
];
const MORE: &str = "needs further lines: write them into a file, and `source FILE`; or debug one rank alone";
const SCREEN: &str = "needs a screen of its own: debug one rank alone, or use --tmux";
const OTHER: &str = "would leave the rank for another process";

impl Line {
    /// Reads a line: `0-3,7: bt`, `all: continue`, `2:`, `next`.
    ///
    /// # Errors
    /// In words: what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (ranks, command) = match text.split_once(':') {
            Some((before, after)) if before.trim() == "all" => (Some(Vec::new()), after.trim()),
            Some((before, after)) if is_ranks(before) => (Some(spans(before)?), after.trim()),
            _ => (None, text),
        };
        let all = ranks.as_ref().is_some_and(Vec::is_empty);
        if command.is_empty() {
            return Ok(match ranks {
                None => Self::Empty,
                Some(_) if all => Self::Choose(None),
                some => Self::Choose(some),
            });
        }
        let word = command.split([' ', '/']).next().unwrap_or_default();
        match word {
            "quit" | "q" | "exit" if ranks.is_none() => return Ok(Self::Quit),
            "quit" | "q" | "exit" | "detach" => return Ok(Self::Detach(ranks)),
            "ranks" => return Ok(Self::States),
            "help" | "h" if command == word => return Ok(Self::Help),
            "python" | "py" if command == word => return Err(format!("{word} {MORE}")),
            _ => {}
        }
        match REFUSED.iter().find(|(refused, _)| *refused == word) {
            Some((_, why)) => Err(format!("{word} {why}")),
            None => Ok(Self::Command(ranks, command.into())),
        }
    }
}

fn is_ranks(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b",- ".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_for_the_ranks_before_the_colon() {
        let command = |ranks, text: &str| Ok(Line::Command(ranks, text.into()));
        assert_eq!(Line::read("bt 3"), command(None, "bt 3"));
        assert_eq!(Line::read(" 0-3,7 : print x::y"), command(Some(vec![(0, 3), (7, 7)]), "print x::y"));
        assert_eq!(Line::read("break a.c:12"), command(None, "break a.c:12"));
        assert_eq!(Line::read("all: c"), command(Some(vec![]), "c"));
        assert_eq!(Line::read("2:"), Ok(Line::Choose(Some(vec![(2, 2)]))));
        assert_eq!(Line::read("all:"), Ok(Line::Choose(None)));
        assert_eq!(Line::read("1: detach"), Ok(Line::Detach(Some(vec![(1, 1)]))));
        assert_eq!((Line::read("q"), Line::read("")), (Ok(Line::Quit), Ok(Line::Empty)));
    }

    #[test]
    fn what_cannot_be_done_for_many_is_said_to() {
        for wrong in ["commands 1", "run", "py", "tui enable", "3-1: bt", "0-: bt", "define x"] {
            assert!(Line::read(wrong).is_err(), "{wrong}");
        }
        assert!(Line::read("python print(1)").is_ok());
    }
}
