// The CustomResourceDefinitions that tests install are data of these modules; nothing of them is compiled.
module attune.dev/sandbox/crds

go 1.26.0

require (
	github.com/argoproj/argo-rollouts v1.9.0
	sigs.k8s.io/secrets-store-csi-driver v1.5.5
)
