-- Claimed tasks whose lease ended before now, by id, each with its top token and who has it. Zero rows: none.
select k.id, t.root, k.claimed_by
from tasks k
join tokens t on t.token = k.token
where k.status = 'claimed' and k.lease_until < :now
order by k.id
limit :limit
