//! The message layer's frames in the words of the packet layer, and back.

use tasuki_msg::{Data, Epoch, Frame, Mark, MsgSeq, Queue, Start, Transmit};
use tasuki_proto::{Outgoing, Payload};
use tasuki_wire::{Control, Frame as WireFrame};

/// For the packet layer; `key` names the payload.
pub(crate) fn outgoing(transmit: &Transmit, key: Option<u64>) -> Option<Outgoing> {
    let payload = Payload { key: key.unwrap_or(0), offset: 0, len: transmit.frame.payload_len() };
    Some(match transmit.frame {
        Frame::Start(start) => Outgoing::Start {
            seq: start.seq.0,
            tag: (start.queue != Queue::Msg).then_some(start.tag),
            service: start.queue == Queue::Service,
            data: start.data,
            remote_key: start.remote_key,
            charged: start.charged,
            ack: start.ack,
            len: start.len,
            early: start.early,
            payload,
        },
        Frame::Data(data) => {
            Outgoing::Data { seq: data.seq.0, offset: data.offset, early: data.early, payload }
        }
        control => Outgoing::Control(to_control(control)?),
    })
}

fn to_control(frame: Frame) -> Option<Control> {
    let mark = |mark: Mark| tasuki_wire::Mark { frames: mark.frames, bytes: mark.bytes };
    Some(match frame {
        Frame::Start(_) | Frame::Data(_) => return None,
        Frame::Grant { seq, upto } => Control::Grant { seq: seq.0, upto },
        Frame::Done { seq } => Control::Done { seq: seq.0 },
        Frame::Credit { total } => Control::Credit { total },
        Frame::Recall { keep } => Control::Recall { keep },
        Frame::Return { total } => Control::Return { total },
        Frame::Quiesce { epoch, mark: totals } => Control::Quiesce { epoch: epoch.0, mark: mark(totals) },
        Frame::Quiesced { epoch, mark: totals } => Control::Quiesced { epoch: epoch.0, mark: mark(totals) },
        Frame::Resume { epoch } => Control::Resume { epoch: epoch.0 },
        Frame::Bye { mark: totals } => Control::Bye { mark: mark(totals) },
    })
}

/// For the message layer, with the payload; `None` if it is not its business.
pub(crate) fn incoming<'a>(frame: &WireFrame<'a>) -> Option<(Frame, &'a [u8])> {
    let none: &[u8] = &[];
    Some(match *frame {
        WireFrame::Start(start) => {
            let frame = Frame::Start(Start {
                seq: MsgSeq(start.seq),
                queue: match (start.service, start.tag) {
                    (true, _) => Queue::Service,
                    (false, Some(_)) => Queue::Tagged,
                    (false, None) => Queue::Msg,
                },
                tag: start.tag.unwrap_or(0),
                data: start.data,
                len: start.len,
                early: start.early,
                inline: start.payload.len() as u64,
                charged: start.charged,
                ack: start.ack,
                remote_key: start.remote_key,
            });
            (frame, start.payload)
        }
        WireFrame::Data(data) => {
            let len = data.payload.len() as u64;
            let seq = MsgSeq(data.seq);
            (Frame::Data(Data { seq, offset: data.offset, len, early: data.early }), data.payload)
        }
        WireFrame::Control { control, .. } => (from_control(control), none),
        _ => return None,
    })
}

fn from_control(control: Control) -> Frame {
    let mark = |mark: tasuki_wire::Mark| Mark { frames: mark.frames, bytes: mark.bytes };
    match control {
        Control::Grant { seq, upto } => Frame::Grant { seq: MsgSeq(seq), upto },
        Control::Done { seq } => Frame::Done { seq: MsgSeq(seq) },
        Control::Credit { total } => Frame::Credit { total },
        Control::Recall { keep } => Frame::Recall { keep },
        Control::Return { total } => Frame::Return { total },
        Control::Quiesce { epoch, mark: totals } => {
            Frame::Quiesce { epoch: Epoch(epoch), mark: mark(totals) }
        }
        Control::Quiesced { epoch, mark: totals } => {
            Frame::Quiesced { epoch: Epoch(epoch), mark: mark(totals) }
        }
        Control::Resume { epoch } => Frame::Resume { epoch: Epoch(epoch) },
        Control::Bye { mark: totals } => Frame::Bye { mark: mark(totals) },
    }
}
