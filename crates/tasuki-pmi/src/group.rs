//! The ranks of a barrier, from the text `group=RANKS:TAG` of PMI 1.2.

use crate::JobShape;

/// The ranks that a barrier is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// All ranks of the job.
    World,
    /// The ranks of the host that asks. Such a barrier is that host's own.
    Node,
    /// These, ascending, each once.
    Ranks(Vec<u32>),
}

/// A barrier: its ranks and its tag, which tells barriers of the same ranks apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The ranks.
    pub members: Members,
    /// One text for all ways of writing the same barrier.
    pub key: String,
}

impl Group {
    /// Reads a group; without one a barrier is for all ranks.
    ///
    /// # Errors
    /// What is wrong, in words that follow "a barrier of".
    pub fn parse(text: Option<&str>, shape: &JobShape) -> Result<Self, String> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(Self { members: Members::World, key: String::new() });
        };
        let (ranks, tag) = text.split_once(':').unwrap_or((text, "0"));
        let is_number = tag.bytes().all(|byte| byte.is_ascii_digit());
        let number = tag.parse::<u32>().ok().filter(|_| is_number);
        let tag = number.ok_or_else(|| format!("the tag {tag:?}, which is no number of 32 bits"))?;
        let members = match ranks {
            "WORLD" => Members::World,
            "NODE" => Members::Node,
            list => Members::Ranks(parse_list(list, shape.size())?),
        };
        let key = match &members {
            Members::World => format!("WORLD:{tag}"),
            Members::Node => format!("NODE:{tag}"),
            Members::Ranks(ranks) => {
                let words: Vec<_> = ranks.iter().map(u32::to_string).collect();
                format!("{}:{tag}", words.join(","))
            }
        };
        Ok(Self { members, key })
    }

    /// Whether a rank takes part, that of a [`Members::Node`] on the host that asks.
    pub fn has(&self, rank: u32) -> bool {
        match &self.members {
            Members::World | Members::Node => true,
            Members::Ranks(ranks) => ranks.binary_search(&rank).is_ok(),
        }
    }
}

fn parse_list(list: &str, size: u32) -> Result<Vec<u32>, String> {
    let parse = |word: &str| match word.parse::<u32>() {
        Ok(rank) if rank < size => Ok(rank),
        _ => Err(format!("rank {word:?} of {size}")),
    };
    let mut ranks = list.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_as_pmi_1_2_writes_them() {
        let shape = JobShape { name: "j".into(), hosts_of_ranks: vec![0; 4], universe: 4 };
        let key = |text: &str| Group::parse(Some(text), &shape).map(|group| group.key);
        assert_eq!(Group::parse(None, &shape).unwrap().key, "");
        assert_eq!(key("WORLD:7"), Ok("WORLD:7".into()));
        assert_eq!(key("NODE:0"), Ok("NODE:0".into()));
        assert_eq!(key("3,1,3:12"), Ok("1,3:12".into()));
        assert_eq!(key("2"), Ok("2:0".into()));
        assert_eq!(
            [key("WORLD:007"), key("1:4294967295")],
            [Ok("WORLD:7".into()), Ok("1:4294967295".into())]
        );
        let tags = ["1:x", "1:", "1:+1", "1:4294967296"];
        for wrong in ["4:0", "1,:0", ",:0", "-1:0", "world:1", "99999999999:1"].into_iter().chain(tags) {
            assert!(key(wrong).is_err(), "{wrong}");
        }
        let group = Group::parse(Some("3,1:0"), &shape).unwrap();
        assert_eq!([0, 1, 2, 3].map(|rank| group.has(rank)), [false, true, false, true]);
    }
}
