//! What `nft -j list ruleset` prints (libnftables-json(5)).

use serde::Deserialize;
use serde_json::Value;

/// A rule set: chains with their rules, in their order, and named sets.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    /// All chains.
    pub chains: Vec<Chain>,
    /// Named sets: family, table, name, elements.
    sets: Vec<(String, String, String, Vec<Value>)>,
}

/// A chain.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Chain {
    /// `inet`, `ip` and so on.
    pub family: String,
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Where it sees packets; `None`: where another chain jumps to it.
    pub hook: Option<String>,
    /// Chains of one hook see packets in this order.
    #[serde(default)]
    pub prio: Value,
    /// What becomes of packets that no rule decides about; `None`: they are accepted.
    pub policy: Option<String>,
    /// Its rules.
    #[serde(skip)]
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its number in the table.
    pub handle: u64,
    /// Its statements.
    pub statements: Vec<Value>,
}

impl Ruleset {
    /// Reads what nft has printed. Objects of unknown kinds are left out.
    ///
    /// # Errors
    /// What is wrong with the JSON.
    pub fn parse(json: &str) -> Result<Self, String> {
        let all: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let objects = all.get("nftables").and_then(Value::as_array).ok_or("it has no nftables")?;
        let mut ruleset = Self::default();
        for object in objects {
            if let Some(chain) = object.get("chain") {
                ruleset.chains.extend(serde_json::from_value::<Chain>(chain.clone()));
            } else if let Some(set) = object.get("set") {
                let elements = set.get("elem").and_then(Value::as_array).cloned().unwrap_or_default();
                let [family, table, name] = ["family", "table", "name"].map(|key| text(set, key));
                ruleset.sets.push((family, table, name, elements));
            } else if let Some(rule) = object.get("rule") {
                let [family, table, name] = ["family", "table", "chain"].map(|key| text(rule, key));
                let handle = rule.get("handle").and_then(Value::as_u64).unwrap_or(0);
                let statements = rule.get("expr").and_then(Value::as_array).cloned().unwrap_or_default();
                if let Some(chain) = ruleset.chain_mut(&family, &table, &name) {
                    chain.rules.push(Rule { handle, statements });
                }
            }
        }
        Ok(ruleset)
    }

    fn chain_mut(&mut self, family: &str, table: &str, name: &str) -> Option<&mut Chain> {
        let is_it = |chain: &&mut Chain| chain.family == family && chain.table == table && chain.name == name;
        self.chains.iter_mut().find(is_it)
    }

    /// The chain of this name in the table of another.
    pub fn beside(&self, chain: &Chain, name: &str) -> Option<&Chain> {
        let is_it =
            |other: &&Chain| other.family == chain.family && other.table == chain.table && other.name == name;
        self.chains.iter().find(is_it)
    }

    /// Elements of a named set in the table of a chain.
    pub fn set(&self, chain: &Chain, name: &str) -> Option<&[Value]> {
        let is_it = |set: &&(String, String, String, Vec<Value>)| {
            set.0 == chain.family && set.1 == chain.table && set.2 == name
        };
        self.sets.iter().find(is_it).map(|set| &set.3[..])
    }

    /// Chains that see IPv4 packets at a hook, in the order in which they do.
    pub fn at_hook(&self, hook: &str) -> Vec<&Chain> {
        let sees = |chain: &&Chain| {
            chain.hook.as_deref() == Some(hook) && ["inet", "ip", "netdev"].contains(&chain.family.as_str())
        };
        let mut chains: Vec<&Chain> = self.chains.iter().filter(sees).collect();
        chains.sort_by_key(|chain| chain.prio.as_i64().unwrap_or(0));
        chains
    }
}

fn text(object: &Value, key: &str) -> String {
    object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
