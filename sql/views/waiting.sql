-- Why each token that has not ended is where it is: one row for each.
-- Who serves a state is known from the supervisors that were heard of, which is up to ten seconds behind.
create view :"views".waiting as
with served as materialized (
    select q.queue, count(*) as supervisors
    from (
        select s.name, s.states,
               s.last_seen_at > now() - make_interval(secs => 60) or exists (
                   select from tasks c
                   where c.status = 'claimed' and c.claimed_by = s.name and c.lease_until > now()
               ) as is_live
        from supervisors s
    ) s
    cross join lateral unnest(s.states) as q(queue)
    where s.is_live
    group by q.queue
)
select t.token, t.workflow, t.state, t.visit, r.reason,
       case r.reason
           when 'paused' then format('paused since %s; events held: %s', to_char(w.since_at at time zone 'UTC', u.said),
               (select count(*) from held h where h.root = t.root and h.token = t.token))
           when 'children' then coalesce(a.why, format('children that still run: %s', t.children_open))
           when 'unserved' then format('task %s is queued for %s, and no live supervisor serves it', k.id, k.queue)
           when 'queued' then format('task %s is queued for %s; live supervisors that serve it: %s', k.id, k.queue, s.supervisors)
           when 'claimed' then format('task %s is claimed by %s until %s', k.id, k.claimed_by, to_char(k.lease_until at time zone 'UTC', u.said))
           when 'outside' then coalesce(a.why, format('task %s waits for someone outside since %s', k.id, to_char(w.since_at at time zone 'UTC', u.said)))
           when 'timer' then format('timer %s is due at %s', m.event, to_char(m.due_at at time zone 'UTC', u.said))
           else 'only an event moves it'
       end as why,
       w.since_at, k.id as task, k.attempt, k.failures, k.claimed_by as supervisor, k.lease_until as leased_until,
       m.event as next_timer, m.due_at, t.children_open as children, t.parent, t.root
from tokens t
left join tasks k on k.id = t.task
left join served s on s.queue = k.queue
left join lateral (
    select n.event, n.kind, n.due_at
    from timers n
    where n.token = t.token and n.status = 'pending'
    order by n.due_at, n.id
    limit 1
) m on true
cross join lateral (
    select case
        when t.status = 'paused' then 'paused'
        -- A routine that began a child does not wait for it before it says so.
        when t.children_open > 0 and coalesce(k.status, 'waiting') = 'waiting' then 'children'
        when k.status = 'queued' then case when s.queue is null then 'unserved' else 'queued' end
        when k.status = 'claimed' then 'claimed'
        -- A routine that set a timer and waits for someone outside most often waits for its timer.
        when m.kind = 'timer' then 'timer'
        when k.status = 'waiting' then 'outside'
        when m.kind = 'timeout' then 'timer'
        else 'event'
    end as reason
) r
cross join lateral (
    select case
        when t.status = 'paused' then t.paused_at
        when k.status = 'queued' then k.queued_at
        when k.status in ('claimed', 'waiting') then (
            select g.at from ledger g
            where g.token = t.token and g.kind = case k.status when 'claimed' then 'task_claimed' else 'task_waiting' end
            order by g.seq desc
            limit 1
        )
        else t.entered_at
    end as since_at
) w
cross join lateral (select 'YYYY-MM-DD HH24:MI:SS "UTC"' as said) u
left join lateral (
    -- A name may hold anything: as JSON it stays on its line.
    select format('task %s awaits %s since %s', k.id, string_agg(format('the %s %s', s.kind, to_json(s.name)), ', ' order by s.seq),
               to_char(w.since_at at time zone 'UTC', u.said)) as why
    from steps s
    where s.task = k.id and s.name in (select json_array_elements_text(k.awaiting))
    having count(*) > 0
) a on k.status = 'waiting' and k.awaiting is not null
where t.status in ('active', 'paused');

comment on view :"views".waiting is 'Why each token that has not ended waits; reason is one word, why is a sentence.';
comment on column :"views".waiting.token is 'The token''s id.';
comment on column :"views".waiting.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".waiting.state is 'The state in which it is.';
comment on column :"views".waiting.visit is 'Which visit of the state this is.';
comment on column :"views".waiting.reason is 'paused, children, unserved, queued, claimed, outside, timer or event.';
comment on column :"views".waiting.why is 'The reason as a sentence; its times are in UTC.';
comment on column :"views".waiting.since_at is 'Since when: it was paused, queued, claimed, left to someone outside; else since it entered the state.';
comment on column :"views".waiting.task is 'The number of its open task.';
comment on column :"views".waiting.attempt is 'How often the task was claimed.';
comment on column :"views".waiting.failures is 'How many tries of the task failed.';
comment on column :"views".waiting.supervisor is 'Who holds the task.';
comment on column :"views".waiting.leased_until is 'When the task is taken from its supervisor, unless that is heard of.';
comment on column :"views".waiting.next_timer is 'The event of the timer that fires next, the timeout included.';
comment on column :"views".waiting.due_at is 'When that timer fires; while the token is paused, when it would have.';
comment on column :"views".waiting.children is 'How many of its children still run.';
comment on column :"views".waiting.parent is 'Its parent, when it is a child.';
comment on column :"views".waiting.root is 'The top token of its family; itself when it is no child.';
