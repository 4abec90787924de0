-- Shows the flow of a token's newest task: the token, the task, the flow if there is one, its steps as JSON,
-- what the routine remembers, its last note, and the step of its parent that began it. The task's columns are
-- null when there was none yet. Zero rows: no such token.
select t.token, t.root, t.parent, t.workflow, t.state, t.status, t.visit, t.seq,
       t.context::text as context, t.counts::text as counts, t.visits::text as visits, t.entered_by::text as entered_by, t.task,
       t.children_open, t.held_count, t.created_at, t.entered_at, t.changed_at, t.paused_at,
       t.ambient::text as ambient, t.child, t.child_task,
       k.id as task_id, k.token as task_token, k.queue as task_queue, k.state as task_state,
       k.visit as task_visit, k.status as task_status, k.attempt as task_attempt,
       k.failures as task_failures, k.claimed_by as task_claimed_by,
       k.lease_until as task_lease_until, k.queued_at as task_queued_at,
       k.awaiting::text as task_awaiting, k.has_items as task_has_items,
       f.task as flow_task, f.token as flow_token, f.schema_version, f.revision, f.input::text as input,
       f.last_message, f.message_at, f.created_at as flow_created_at, f.updated_at, f.step_count, f.size,
       (select json_agg(json_build_array(s.seq, s.name, s.kind, s.status, s.result::text, s.correlation, s.answered, s.message,
                                         s.child, s.on_lost, s.attempt, s.revision, s.opened_at, s.completed_at,
                                         s.fault, s.failures, s.workflow, s.input_hash, s.fail_on_failure)
                        order by s.seq)::text
        from steps s where s.task = f.task) as steps,
       (select json_agg(json_build_array(m.key, m.value::text))::text
        from memory m where m.token = t.token and m.state = k.state) as memory,
       (select json_build_array(n.data ->> 'text', n.at)::text
        from ledger n
        where n.token = t.token and n.kind = 'note' and n.data ->> 'task' = k.id::text
        order by n.seq desc limit 1) as note,
       (select b.name from steps b where b.child = t.token) as parent_step
from tokens t
left join tasks k on k.id = (
    select (q.data ->> 'task')::bigint from ledger q
    where q.token = t.token and q.kind = 'task_queued'
    order by q.seq desc limit 1
)
left join flows f on f.task = k.id
where t.token = :token
