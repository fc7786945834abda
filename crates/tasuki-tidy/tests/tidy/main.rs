//! The laws of this repository, checked against all of it, in a second and without root. `laws` has one file
//! for each.
//!
//! `ratchets.toml` counts what broke a law when it was made. These numbers only shrink: a test fails if there
//! is more, and also if there is less than the number says. Then `TASUKI_TIDY=lower cargo test -p
//! tasuki-tidy` lowers it; nothing raises one.

mod breach;
mod imports;
mod items;
mod laws;
mod lexer;
mod manifest;
mod modules;
mod ratchets;
mod tree;

use std::path::Path;
use std::sync::LazyLock;

use breach::{Breach, Law, judge};
use ratchets::Ratchets;
use tree::Tree;

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::load(&root()));

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fails with what is wrong, or lowers what is let pass if it is told to.
fn hold(law: &Law, check: impl Fn(&Tree) -> Vec<Breach>) {
    let breaches = check(&TREE);
    if std::env::var("TASUKI_TIDY").is_ok_and(|what| what == "lower") {
        Ratchets::lower(law, &breaches);
    }
    if let Some(text) = judge(law, &breaches, &Ratchets::load().of(law)) {
        panic!("\n{text}");
    }
}

macro_rules! laws {
    ($($test:ident: $law:expr, $check:expr;)*) => {
        $(
            #[test]
            fn $test() {
                hold(&$law, $check);
            }
        )*

        #[test]
        fn every_exception_belongs_to_a_law() {
            let known = [$($law.name),*];
            let ratchets = Ratchets::load();
            let strange: Vec<_> = ratchets.names().filter(|name| !known.contains(&name.as_str())).collect();
            assert!(strange.is_empty(), "ratchets.toml has entries of unknown laws: {strange:?}");
        }
    };
}

laws! {
    crates_use_what_the_readme_says_and_only_crates_above: laws::arrows::LAW, laws::arrows::check;
    functions_have_at_most_70_lines: laws::sizes::FUNCTIONS, laws::sizes::functions;
    files_have_at_most_400_lines: laws::sizes::FILES, laws::sizes::files;
    no_more_files_than_before_have_over_300_lines: laws::sizes::LARGE_FILES, laws::sizes::large_files;
    the_command_leaves_its_work_to_libraries: laws::sizes::COMMAND_SIZE, laws::sizes::command_size;
    lines_are_not_too_wide: laws::sizes::WIDTH, laws::sizes::width;
    records_of_choices_have_their_four_parts: laws::records::LAW, laws::records::check;
    entries_of_the_changelog_are_a_line_each: laws::changelog::LAW, laws::changelog::check;
    what_breaks_on_purpose_is_in_no_build_that_ships: laws::hooks::LAW, laws::hooks::check;
    names_that_were_given_up_do_not_come_back: laws::words::LAW, laws::words::check;
    comments_can_be_understood_alone: laws::comments::LAW, laws::comments::check;
    the_methods_of_a_type_are_in_few_files: laws::blocks::LAW, laws::blocks::check;
    files_use_each_other_in_one_direction: laws::cycles::LAW, laws::cycles::check;
    links_lead_somewhere: laws::links::LAW, laws::links::check;
    no_test_build_writes_what_is_installed: laws::ships::LAW, laws::ships::check;
}
