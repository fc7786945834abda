//! What of a job's figures is worth a look.

use crate::figures::{RankTime, Report};
use tasuki_load::NicUse;
use tasuki_trace::Joined;

/// A rank that computes for longer than this multiple of the mean makes the others wait.
const IMBALANCE: f64 = 1.2;
/// What a rank computes for longer than the mean counts from this share of its time on.
const IMBALANCE_SHARE: f64 = 0.05;
/// From this share of the time in MPI on it pays to look at messages rather than at computing.
const MUCH_IN_MPI: f64 = 0.3;
/// A NIC that carries more than this multiple of the mean of those that are used is a bottleneck.
const UNEVEN: f64 = 1.5;
/// NICs that have carried less than this are not used, bytes.
const USED_BYTES: u64 = 1 << 20;
/// Messages up to this size cost their number, not their bytes.
const SHORT: u64 = 1024;

/// In words, the most telling ones first.
pub(crate) fn warnings(report: &Report, trace: &Joined) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(report.nics.iter().filter_map(damage));
    all.extend(imbalance(&report.ranks));
    all.extend(in_mpi(report));
    all.extend(uneven(&report.nics));
    let left_out = trace.left_out;
    if left_out.one_sided > 0 {
        all.push(format!("{} one-sided operations are in none of these figures", left_out.one_sided));
    }
    if left_out.unfinished > 0 {
        all.push(format!(
            "{} ranks did not call MPI_Finalize: the end of their messages is missing",
            left_out.unfinished
        ));
    }
    all
}

fn damage(nic: &NicUse) -> Option<String> {
    (nic.errors + nic.dropped > 0).then(|| {
        format!(
            "{}:{}: {} damaged and {} dropped frames while it ran: `tasuki check` finds the part at fault",
            nic.host, nic.nic, nic.errors, nic.dropped
        )
    })
}

fn imbalance(ranks: &[RankTime]) -> Option<String> {
    let mean = ranks.iter().map(|rank| rank.computing).sum::<f64>() / ranks.len().max(1) as f64;
    let most = ranks.iter().max_by(|one, other| one.computing.total_cmp(&other.computing))?;
    let is_much =
        most.computing > IMBALANCE * mean && most.computing - mean > IMBALANCE_SHARE * most.seconds();
    (ranks.len() > 1 && mean > 0.0 && is_much).then(|| {
        format!(
            "rank {} computes {:.2} s, {:.1} times the mean of all ranks: the others wait for it",
            most.rank,
            most.computing,
            most.computing / mean
        )
    })
}

fn in_mpi(report: &Report) -> Option<String> {
    let share = report.share_in_mpi();
    if share < MUCH_IN_MPI {
        return None;
    }
    let (all, short) = report.sizes.iter().fold((0, 0), |(all, short), class| {
        (all + class.messages, short + if class.longest <= SHORT { class.messages } else { 0 })
    });
    let kind = match short * 2 > all {
        true => "most messages are short: fewer, longer ones would cost less",
        false => "most messages are long: more rails, or computing while they are under way, would help",
    };
    Some(format!("ranks are in MPI for {:.0} % of their time; {kind}", share * 100.0))
}

fn uneven(nics: &[NicUse]) -> Option<String> {
    let carried = |nic: &NicUse| nic.sent_bytes + nic.received_bytes;
    let used: Vec<&NicUse> = nics.iter().filter(|nic| carried(nic) >= USED_BYTES).collect();
    let mean = used.iter().map(|nic| carried(nic)).sum::<u64>() as f64 / used.len().max(1) as f64;
    let most = used.iter().max_by_key(|nic| carried(nic))?;
    (used.len() > 1 && carried(most) as f64 > UNEVEN * mean).then(|| {
        format!(
            "{}:{} carries {:.1} times the mean of all NICs: another cabling may suit this program \
             (`tasuki run --trace`, `tasuki topo simulate`)",
            most.host,
            most.nic,
            carried(most) as f64 / mean
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_trace::LeftOut;

    fn nic(host: &str, sent_bytes: u64, errors: u64) -> NicUse {
        NicUse { host: host.into(), nic: "eth1".into(), sent_bytes, errors, ..NicUse::default() }
    }

    fn said(computing: &[f64], receiving: f64, nics: Vec<NicUse>) -> String {
        let rank = |(rank, &computing)| RankTime { rank, computing, receiving, ..RankTime::default() };
        let ranks = (0..).zip(computing).map(rank).collect();
        let report = Report { ranks, nics, ..Report::default() };
        let trace = Joined { ranks: Vec::new(), ends: Vec::new(), left_out: LeftOut::default() };
        warnings(&report, &trace).join("; ")
    }

    #[test]
    fn what_is_even_and_whole_is_no_warning() {
        assert_eq!(said(&[0.1, 0.3], 0.01, Vec::new()).matches("times").count(), 1);
        assert_eq!(said(&[0.1, 0.3], 90.0, Vec::new()).matches("times").count(), 0, "it does not matter");
        assert_eq!(said(&[10.0, 11.0], 1.0, vec![nic("n1", 5 << 20, 0), nic("n2", 6 << 20, 0)]), "");
    }

    #[test]
    fn each_kind_is_told() {
        assert!(said(&[10.0, 30.0], 1.0, Vec::new()).contains("rank 1 computes 30.00 s, 1.5 times"));
        assert!(said(&[10.0], 10.0, Vec::new()).contains("50 % of their time"));
        assert!(said(&[], 0.0, vec![nic("n1", 0, 3)]).starts_with("n1:eth1: 3 damaged"));
        let uneven = said(&[], 0.0, vec![nic("n1", 9 << 20, 0), nic("n2", 1 << 20, 0), nic("n3", 7, 0)]);
        assert!(uneven.starts_with("n1:eth1 carries 1.8 times"), "{uneven}");
    }
}
