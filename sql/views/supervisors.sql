-- The supervisors that were heard of, what they serve, and how many tasks they hold.
create view :"views".supervisors as
select coalesce(s.name, k.claimed_by) as name, s.states, coalesce(k.tasks_held, 0) as tasks_held, s.last_seen_at,
       -- The control plane writes down each ten seconds who asks; who is busy only beats, a few times a lease.
       coalesce(s.last_seen_at > now() - make_interval(secs => 60), false)
           or coalesce(k.leased_until > now(), false) as is_live
from supervisors s
full join (
    select c.claimed_by, count(*) as tasks_held, max(c.lease_until) as leased_until
    from tasks c
    where c.status = 'claimed'
    group by c.claimed_by
) k on k.claimed_by = s.name;

comment on view :"views".supervisors is 'Who works: the states that each supervisor asks for, the tasks that it holds, and when it was seen last.';
comment on column :"views".supervisors.name is 'The name that the supervisor goes by.';
comment on column :"views".supervisors.states is 'The states that it asks for; a child workflow''s as workflow/state. Null when it was not heard asking.';
comment on column :"views".supervisors.tasks_held is 'How many tasks it works on.';
comment on column :"views".supervisors.last_seen_at is 'When it last asked for work or said that it works; up to ten seconds behind.';
comment on column :"views".supervisors.is_live is 'Whether it was seen within the last minute, or holds a task whose lease still runs.';
