"""PPO: each round collects a rollout, trains on it for two epochs and lets it go. Long rounds with two kinds of inner steps."""
import torch, common
from torch import nn
from common import DEV
ROUNDS, ROLLOUT, BATCHES = 7, 10, 4

common.start()
policy, value = (nn.Sequential(nn.Linear(24, 128), nn.Tanh(), nn.Linear(128, n)).to(DEV) for n in (5, 1))
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-4)
for _ in range(ROUNDS):
    observed, acted, rewarded = [], [], []
    with torch.no_grad():
        for _ in range(ROLLOUT):
            obs = torch.randn(64, 24, device=DEV)
            observed.append(obs)
            acted.append(policy(obs).argmax(-1))
            rewarded.append(obs.sum(-1))
    obs, act, rew = torch.cat(observed), torch.cat(acted), torch.cat(rewarded)
    for _ in range(BATCHES):
        pick = torch.randint(0, len(obs), (256,), device=DEV)
        logp = policy(obs[pick]).log_softmax(-1).gather(1, act[pick, None]).squeeze(1)
        advantage = rew[pick] - value(obs[pick]).squeeze(1)
        loss = -(logp * advantage.detach()).mean() + advantage.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    common.step()
common.save("c49_ppo_rollouts", __file__, {"verdict": "healthy", "kind": "rollouts", "accept_steps": [ROUNDS, ROUNDS * BATCHES, ROUNDS * ROLLOUT, ROUNDS * (ROLLOUT + BATCHES)]})
