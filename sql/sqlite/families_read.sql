-- Reads the asked tokens, the tokens of the asked tasks, and all their ancestors; each with its open task
-- and, as JSON, its pending timers. The asked ones come as JSON lists. A missing row: no such token.
with recursive line(token, parent) as (
    select a.token, a.parent from tokens a
    where a.token in (select value from json_each(:tokens)
                      union select k.token from tasks k where k.id in (select value from json_each(:tasks)))
    union
    select p.token, p.parent from line join tokens p on p.token = line.parent
)
select t.token, t.root, t.parent, t.workflow, t.state, t.status, t.visit, t.seq,
       t.context, t.counts, t.visits, t.entered_by, t.task,
       t.children_open, t.held_count, t.created_at, t.entered_at, t.changed_at, t.paused_at,
       t.ambient, t.child, t.child_task,
       k.id as task_id, k.token as task_token, k.queue as task_queue, k.state as task_state,
       k.visit as task_visit, k.status as task_status, k.attempt as task_attempt,
       k.failures as task_failures, k.claimed_by as task_claimed_by,
       k.lease_until as task_lease_until, k.queued_at as task_queued_at,
       k.awaiting as task_awaiting, k.has_items as task_has_items,
       (select json_group_array(json_array(m.id, m.token, m.state, m.visit, m.event, m.payload,
                                           m.kind, m.status, m.set_at, m.due_at, m.step))
        from timers m where m.token = t.token and m.status = 'pending') as timers
from tokens t
left join tasks k on k.id = t.task
where t.token in (select line.token from line)
