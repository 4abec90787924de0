-- Which transitions were taken, how often, and when last.
create view :"views".paths as
select t.workflow, w.from_state, w.event, w.to_state, count(*) as count, max(m.at) as last_at
from (
    -- A move ends with the state that is entered; what stands in between are tasks.
    select l.token, l.kind, l.at, l.data, lead(l.kind) over line as next_kind, lead(l.data) over line as next_data
    from ledger l
    where l.kind in ('event_accepted', 'entered', 'completed')
    window line as (partition by l.token order by l.seq)
) m
join tokens t on t.token = m.token
cross join lateral (
    select m.data ->> 'state' as from_state, m.data ->> 'event' as event,
           case m.next_kind when 'entered' then m.next_data ->> 'state' else '__end__' end as to_state
) w
where m.kind = 'event_accepted'
group by t.workflow, w.from_state, w.event, w.to_state;

comment on view :"views".paths is 'The transitions that tokens took, with how often.';
comment on column :"views".paths.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".paths.from_state is 'The state that was left; __start__ for a start.';
comment on column :"views".paths.event is 'The event; __started__ for a start.';
comment on column :"views".paths.to_state is 'The state that was entered; __end__ for END.';
comment on column :"views".paths.count is 'How often it was taken.';
comment on column :"views".paths.last_at is 'When it was taken last.';
