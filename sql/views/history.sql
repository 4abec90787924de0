-- Every ledger entry as the sentence that `stateous token history` prints: ask for one token, order by seq.
-- The sentences are those of stateous/model/sentences.py, field by field; a test compares them.
create view :"views".history as
select l.token, l.seq, l.at, l.kind,
       case when s.said ~ u.class then (
           select string_agg(case
               when c.it !~ u.class then c.it
               when c.it = chr(9) then '\t'
               when c.it = chr(10) then '\n'
               when c.it = chr(13) then '\r'
               when ascii(c.it) < 256 then '\x' || lpad(to_hex(ascii(c.it)), 2, '0')
               when ascii(c.it) < 65536 then '\u' || lpad(to_hex(ascii(c.it)), 4, '0')
               else '\U' || lpad(to_hex(ascii(c.it)), 8, '0')
           end, '' order by c.place)
           from unnest(string_to_array(s.said, null)) with ordinality as c(it, place)
       ) else s.said end as sentence,
       l.data
from ledger l
-- A text is said as it is, anything else as compact JSON, and what is not there as null.
cross join lateral (
    select coalesce(l.data ->> 'changes', 'null') as changes,
           coalesce(l.data ->> 'context', 'null') as context,
           coalesce(l.data ->> 'attempt', 'null') as attempt,
           coalesce(l.data ->> 'due_at', 'null') as due_at,
           coalesce(l.data ->> 'error', 'null') as error,
           coalesce(l.data ->> 'event', 'null') as event,
           coalesce(' ' || (l.data ->> 'items') || ' items', '') || coalesce(' item ' || (l.data ->> 'item'), '')
               || coalesce(' of ' || (l.data ->> 'entity'), '') as items,
           coalesce(l.data ->> 'memory_key', 'null') as memory_key,
           coalesce(l.data ->> 'message', 'null') as message,
           coalesce(l.data ->> 'reason', 'null') as reason,
           coalesce(l.data ->> 'state', 'null') as state,
           coalesce(l.data ->> 'status', 'null') as status,
           coalesce(l.data ->> 'step', 'null') as step,
           coalesce(l.data ->> 'supervisor', 'null') as supervisor,
           coalesce(l.data ->> 'task', 'null') as task,
           coalesce(l.data ->> 'text', 'null') as text,
           coalesce(l.data ->> 'token', 'null') as token,
           coalesce(l.data ->> 'visit', 'null') as visit,
           coalesce(l.data ->> 'workflow', 'null') as workflow,
           coalesce(' with ' || (l.data ->> 'payload'), '') as with_payload,
           coalesce(' by ' || (l.data ->> 'parent'), '') as by_parent,
           coalesce(': ' || (l.data ->> 'reason'), '') as for_a_reason,
           coalesce(
               ' awaits the ' || (l.data ->> 'kind') || ' ' || (l.data ->> 'step'),
               ' waits for someone outside: ' || (l.data ->> 'awaiting'),
               ' waits for someone outside'
           ) as waits,
           coalesce(', until ' || (l.data ->> 'due_at'), '') as until_due,
           coalesce(' (' || (l.data ->> 'message') || ')', '') as with_message
) d
cross join lateral (
    select case l.kind
        when 'started' then 'started with ' || d.context || d.by_parent
        when 'event_accepted' then 'event ' || d.event || ' accepted in ' || d.state || d.with_payload
        when 'event_rejected' then 'event ' || d.event || ' rejected: ' || d.reason
        when 'event_deferred' then 'event ' || d.event || ' held until the token is resumed' || d.with_payload
        when 'event_replayed' then 'held event ' || d.event || ' is applied'
        when 'event_dropped' then 'held event ' || d.event || ' dropped: ' || d.reason
        when 'entered' then 'entered ' || d.state || ' (visit ' || d.visit || ')'
        when 'task_queued' then 'task ' || d.task || ' queued for ' || d.state
        when 'task_claimed' then 'task ' || d.task || ' claimed by ' || d.supervisor || ' (attempt ' || d.attempt || ')'
        when 'task_waiting' then 'task ' || d.task || d.waits
        when 'task_resumed' then 'task ' || d.task || ' goes on'
        when 'task_done' then 'task ' || d.task || ' done'
        when 'task_cancelled' then 'task ' || d.task || ' cancelled'
        when 'task_failed' then 'task ' || d.task || ' failed: ' || d.error
        when 'task_retrying' then 'task ' || d.task || ' queued again (attempt ' || d.attempt || ' comes next)'
        when 'timer_set' then 'timer set: ' || d.event || ' is due at ' || d.due_at
        when 'timer_fired' then 'timer fired: ' || d.event
        when 'branch_started' then 'child ' || d.token || ' of workflow ' || d.workflow || ' started'
        when 'context_changed' then 'context changed: ' || d.changes
        when 'note' then 'task ' || d.task || ' notes: ' || d.text
        when 'memory_set' then 'memory of ' || d.state || ': ' || d.memory_key || ' set'
        when 'memory_deleted' then 'memory of ' || d.state || ': ' || d.memory_key || ' deleted'
        when 'step_done' then 'step ' || d.step || ' of task ' || d.task || ' done'
        when 'step_faulted' then 'step ' || d.step || ' of task ' || d.task || ' faulted: ' || d.message
        when 'response_awaited' then 'step ' || d.step || ' of task ' || d.task || ' awaits a response' || d.until_due
        when 'response_received' then 'step ' || d.step || ' of task ' || d.task || ' received its response: ' || d.status || d.with_message
        when 'item_acquired' then 'task ' || d.task || ' works on' || d.items
        when 'item_processed' then 'task ' || d.task || ' is done with' || d.items
        when 'item_failed' then 'task ' || d.task || ' failed with' || d.items || d.for_a_reason
        when 'item_skipped' then 'task ' || d.task || ' skips' || d.items || d.for_a_reason
        when 'child_awaited' then 'step ' || d.step || ' of task ' || d.task || ' awaits the child ' || d.token || ' of workflow ' || d.workflow
        when 'flow_failed' then 'task ' || d.task || ' fails for good: ' || d.error
        when 'paused' then 'paused'
        when 'resumed' then 'resumed'
        when 'completed' then 'completed'
        when 'failed' then 'failed: ' || d.reason
        when 'cancelled' then 'cancelled' || d.for_a_reason
        else l.kind || ' ' || l.data
    end as said
) s
-- What a terminal would act on, or what cannot be seen: it is written as an escape.
cross join lateral (
    select '[\u0001-\u001f\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u1680\u180e'
        || '\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ue000-\uf8ff\ufeff\ufff9-\ufffb'
        || '\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001'
        || '\U000e0020-\U000e007f\U000f0000-\U0010ffff]' as class
) u;

comment on view :"views".history is 'Every ledger entry as a sentence, as `stateous token history` prints it; order by seq.';
comment on column :"views".history.token is 'The token''s id.';
comment on column :"views".history.seq is 'The number of the entry in its token''s ledger: 1, 2, 3 without a gap.';
comment on column :"views".history.at is 'When it was decided.';
comment on column :"views".history.kind is 'What kind of entry it is: docs/ledger.md lists them.';
comment on column :"views".history.sentence is 'The entry in one line.';
comment on column :"views".history.data is 'The fields of the entry, as JSON: data ->> ''event'' and the like.';
